#!/usr/bin/env bash
# numbers.sh [FOLDER]: every requirement (R) and every edge case (E) of the record has a test with its
# number in its name: CASE(suite, R10_R18_...), or the NAME of a test of CTest. Nor does a name have a
# number that there is not.
set -euo pipefail

here=${BASH_SOURCE%/*}
folder=${1:-tests}

numbers="R01 R02 R03 R04 R05 R06 R07 R08
    R10 R11 R12 R13 R14 R15 R16 R17 R18
    R20 R21 R22
    R30 R31 R32 R33 R34 R35 R36
    R40 R41 R42
    E1 E2 E3 E4 E5 E6 E7 E8 E9 E10 E11 E12 E13 E14 E15 E16
    E17 E18 E19 E20 E21 E22 E23 E24 E25 E26 E27 E28 E29 E30 E31 E32"

# Being built: async capture, formats of quantized tensors, flips in a real store.
pending=""

# CASE(SUITE, NAME of the C sources, CONTINUE(NUMBER, ...) of one of them, and NAME of CTest.
names() {
    "$here/sources.sh" "$folder" | xargs cat | tr -s '\n ' ' ' |
        grep -oE '\bCASE\( ?\w+, ?\w+|\bCONTINUE\( ?\w+' || true
    find "$folder" -name CMakeLists.txt -exec grep -ohE '\bNAME [^ ]+' {} + || true
}

named=$(names | grep -oE '[A-Za-z0-9]+' | grep -xE '[RE][0-9]+' | sort -u || true)
bad=0
for number in $numbers; do
    case " $pending " in
    *" $number "*)
        if grep -qx "$number" <<<"$named"; then
            echo "numbers: $number has a test now: take it off the pending ones in $0"
            bad=1
        fi
        ;;
    *)
        if ! grep -qx "$number" <<<"$named"; then
            echo "numbers: $number is in no test's name"
            bad=1
        fi
        ;;
    esac
done
for number in $named; do
    if ! grep -qw "$number" <<<"$numbers"; then
        echo "numbers: a test is named after $number, which there is not"
        bad=1
    fi
done
exit $bad
