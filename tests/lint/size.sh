#!/usr/bin/env bash
# size.sh: a source file has at most 400 lines, a test at most 600, and nothing is left for later.
# (The length of functions is clang-tidy's.)
set -euo pipefail

here=${BASH_SOURCE%/*}
bad=0
while read -r file; do
    most=400
    case $file in tests/*) most=600 ;; esac
    lines=$(wc -l <"$file")
    if [ "$lines" -gt $most ]; then
        echo "size: $file has $lines lines, more than $most"
        bad=1
    fi
done < <("$here/sources.sh" proto daemon client include tests)

later='TO''DO|FIX''ME'
if grep -rnE "$later" proto daemon client include tests deploy --include='*.[ch]' --include='*.sh' \
    --include='*.txt' --include='*.md' --include='*.proto'; then
    echo "size: left for later"
    bad=1
fi
if grep -rnE '(^|[^a-z_])(u?sleep|nanosleep|uv_sleep)\(' tests --include='*.[ch]'; then
    echo "size: a test sleeps; wait for the event"
    bad=1
fi
exit $bad
