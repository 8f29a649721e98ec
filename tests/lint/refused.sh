#!/usr/bin/env bash
# refused.sh WORD COMMAND...: succeeds only when COMMAND fails and says WORD.
set -uo pipefail

word=$1
shift
if out=$("$@" 2>&1); then
    echo "refused: '$*' should have failed, and said: $out"
    exit 1
fi
grep -qF -- "$word" <<<"$out" && exit 0
echo "refused: '$*' failed without the word '$word': $out"
exit 1
