#!/usr/bin/env bash
# mutate.sh SOURCE SCRATCH [PATCH...]: breaks one rule at a time, and a test must see it (README.md).
#
# The sources are copied into SCRATCH and built there once. A patch that does not apply exactly, that
# does not build, or whose tests say nothing is a failure like one that no test sees.
set -euo pipefail

here=$(cd "${BASH_SOURCE%/*}" && pwd)
[ $# -ge 2 ] || { echo "usage: mutate.sh SOURCE SCRATCH [PATCH...]" >&2 && exit 2; }
source=$1 scratch=$2
shift 2
tree=$scratch/tree build=$scratch/build log=$scratch/log
bad=0

complain() {
    echo "mutate: $*"
    bad=1
}

number_of() { echo "${1%%-*}"; }
field_of() { sed -n "s/^$2: //p" "$here/$1.patch"; }

# ---- the table and the patches ----

mapfile -t all < <(find "$here" -name '*.patch' -printf '%f\n' | sed 's/\.patch$//' | sort -V)
[ $# -gt 0 ] || set -- "${all[@]}"
for patch; do
    [ -r "$here/$patch.patch" ] || { echo "mutate: there is no $patch.patch" >&2 && exit 2; }
done

rules=$(sed -nE 's/^\| ([NDWFVS][0-9]+) .*/\1/p' "$here/README.md")
broken=$(for patch in "${all[@]}"; do number_of "$patch"; done | sort -u)
for rule in $rules; do
    if ! grep -qx "$rule" <<<"$broken" && ! grep -q "^| $rule .*: no patch," "$here/README.md"; then
        complain "no patch breaks $rule"
    fi
done
for number in $broken; do
    grep -qx "$number" <<<"$rules" || complain "README.md has no $number"
done

# ---- building and running ----

# make TARGET...
make_tests() { cmake --build "$build" -j "$(nproc)" --target "$@" >"$log" 2>&1; }

# test_names PROGRAM NUMBER: "ok NAME" and "not ok NAME" of its tests that have the number.
test_names() {
    local program=$build/$1
    rm -f "$scratch/tap"
    [ -x "$program" ] || program=$(find "$build/tests" -name "$1" -type f)
    timeout 300 "$program" -j "$(nproc)" --timeout 60 --filter "*/@($2_*|*_$2_*)" \
        --tap="$scratch/tap" >"$log" 2>&1 || true
    sed -nE "/# SKIP/d; s/^(not ok|ok) - [a-z0-9_]+::(([A-Za-z0-9_]*_)?$2_[A-Za-z0-9_]*).*/\1 \2/p" \
        "$scratch/tap" 2>/dev/null || true
}

# ---- whole, everything is green ----

rm -rf "$scratch"
mkdir -p "$tree"
cp -a "$source"/{CMakeLists.txt,proto,daemon,client,include,deploy,tests} "$tree"
CAIRN_TEST_DIR=$(mktemp -d /dev/shm/cairn-mutate.XXXXXX)
trap 'rm -rf "$CAIRN_TEST_DIR"' EXIT
export CAIRN_TEST_DIR CAIRN_TEST_FS=tmpfs

mapfile -t targets < <(for patch; do field_of "$patch" Tests | tr ' ' '\n'; done | sort -u)
cmake -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O0 -DCAIRN_FAILPOINTS=ON \
    -DCAIRN_TEST_ROOMS='unit/store;unit/client;unit/proto' >"$scratch/log" 2>&1 &&
    make_tests "${targets[@]}" || { tail -n 30 "$log" && echo "mutate: the tree does not build" && exit 1; }

mapfile -t pairs < <(for patch; do
    for program in $(field_of "$patch" Tests); do echo "$program $(number_of "$patch")"; done
done | sort -uV)
for pair in "${pairs[@]}"; do
    names=$(test_names $pair)
    if [ -z "$names" ]; then
        complain "${pair% *} has no test with ${pair#* } in its name, or did not end"
    elif grep -q '^not ok' <<<"$names"; then
        complain "unpatched, ${pair% *} is red: $names"
    fi
done
[ $bad -eq 0 ] || exit 1

# ---- one after the other ----

# judge PATCH: applied and built, which of its tests see it?
judge() {
    local patch=$1 program red seen=''
    for program in $(field_of "$patch" Tests); do
        red=$(test_names "$program" "$(number_of "$patch")" | sed -n 's/^not ok //p')
        seen+=${red:+ $red}
    done
    if [ -z "$seen" ]; then
        complain "SURVIVED $patch: $(field_of "$patch" Breaks)"
    else
        echo "seen $patch:" $seen
    fi
}

count=0
for patch; do
    if ! patch -d "$tree" -p1 --fuzz=0 --no-backup-if-mismatch -s <"$here/$patch.patch"; then
        complain "$patch does not apply: rewrite it for the code as it is now"
        find "$tree" -name '*.rej' -delete
        exit 1
    fi
    read -ra programs <<<"$(field_of "$patch" Tests)"
    if make_tests "${programs[@]}"; then
        judge "$patch"
    else
        tail -n 30 "$log"
        complain "$patch does not build"
    fi
    patch -d "$tree" -p1 -R -s <"$here/$patch.patch"
    count=$((count + 1))
done
echo "mutate: $count patches"
exit $bad
