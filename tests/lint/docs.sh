#!/usr/bin/env bash
# docs.sh HEADER...: the comment before every exported call says its errors, who owns what, which
# threads may call it and whether it blocks. Calls that stand together share one comment.
set -euo pipefail

awk '
/^\/\*/ { comment = "" }
/^\/\*/, /\*\// { comment = comment $0 }
/^CAIRN_API/ {
    calls++
    if (comment !~ /Errors/ || comment !~ /Ownership/ || comment !~ /Threads/ || comment !~ /Blocks/) {
        print FILENAME ":" FNR ": Errors, Ownership, Threads and Blocks are not all said: " $0
        bad = 1
    }
}
END {
    if (calls == 0) { print "docs: no exported call"; exit 1 }
    if (!bad) { print "docs: " calls " calls are documented" }
    exit bad
}' "$@"
