#!/usr/bin/env bash
# red.sh CTEST DIR TEST WORD: runs one test of DIR through CTest, and succeeds only when CTest fails
# it and says WORD. With WORD "passed" the test must pass: were everything red, nothing would be
# proved.
set -uo pipefail
ctest=$1 dir=$2 test=$3 word=$4

out=$("$ctest" --test-dir "$dir" -R "^$test\$" --output-on-failure 2>&1)
rc=$?
if [ "$word" = passed ]; then
    [ $rc -eq 0 ] && grep -q '100% tests passed, 0 tests failed out of 1' <<<"$out" && exit 0
else
    [ $rc -eq 8 ] && grep -q '1 tests failed out of 1' <<<"$out" && grep -qF -- "$word" <<<"$out" &&
        exit 0
fi
echo "red.sh: $test should have been reported with '$word'; CTest ended with $rc and said:"
# Indented and with the words of the guards broken up, so that this test fails for itself alone.
sed 's/^/    | /; s/:/ :/g' <<<"$out"
exit 1
