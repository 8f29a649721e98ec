#!/usr/bin/env bash
# deploy/check.sh [--quick | --long]: install what the tests need, build, run all of them.
#
# The tests run in legs: the same sources built in several ways, each with the folders of tests that
# this way can tell something new about. All legs go through one CTest run, whose summary is the last
# thing printed; the exit code is 0 only when every leg builds and every test passes. Some tests mount
# small file systems, so a user who is not root needs sudo. Everything is made below build/check/.
#
# --quick, for a developer: the gcc leg alone, without the tests labelled slow and without
# clang-tidy; installs nothing, and leaves out what mounts when it is not root.
#
# --long: the tests labelled long alone, optimised (every value of F32 through every conversion:
# minutes); installs nothing and needs no root.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$here")
out=$tree/build/check
cores=$(nproc)

quick=
long=
case "${1-}" in
--quick) quick=yes && out=$tree/build/quick ;;
--long) long=yes && out=$tree/build/long ;;
'') ;;
*) echo "usage: check.sh [--quick | --long]" >&2 && exit 2 ;;
esac

if [ -z "$quick$long" ] && [ "$(id -u)" -ne 0 ]; then
    "$here/setup.sh" build test
    if [ -t 0 ]; then exec sudo "$0"; else exec sudo -n "$0"; fi
fi

build() {
    local dir=$1 compiler=$2
    shift 2
    CC=$compiler cmake -S "$tree" -B "$dir" -DCAIRN_WERROR=ON "$@" && cmake --build "$dir" -j "$cores"
}

# leg NAME COMPILER OPTION...: configure and build one leg, and put its tests in the run.
legs=()
leg() {
    local name=$1 compiler=$2
    shift 2
    echo "check: building $name"
    mkdir -p "$out/$name"
    if ! build "$out/$name" "$compiler" -DCAIRN_TEST_PREFIX="$name." "$@" >"$out/$name.log" 2>&1; then
        tail -n 60 "$out/$name.log" >&2
        echo "check: the $name leg does not build" >&2
        exit 1
    fi
    legs+=("$name")
}

# run CTEST_OPTION...: the tests of all legs in one CTest run.
run() {
    printf 'subdirs("%s")\n' "${legs[@]}" >"$out/CTestTestfile.cmake"
    ctest --test-dir "$out" -j "$cores" --output-on-failure --no-tests=error "$@" </dev/null
}

if [ -n "$quick" ]; then
    leg gcc gcc -DCAIRN_FAILPOINTS=ON -DCAIRN_TEST_SLOW=OFF
    skip='lint\.tidy'
    [ "$(id -u)" -eq 0 ] || skip="$skip|test_store|test_disks|mounts" # those mount
    run --exclude-regex "$skip"
    exit
fi

if [ -n "$long" ]; then
    leg long gcc -DCMAKE_BUILD_TYPE=Release -DCAIRN_TEST_LONG=ON -DCAIRN_TEST_ROOMS='unit/client'
    run --label-regex '^long$'
    exit
fi

"$here/setup.sh" build test
# What sudo made belongs to who called it.
trap '[ -z "${SUDO_UID-}" ] || chown -R "$SUDO_UID:$SUDO_GID" "$tree/build"' EXIT

leg gcc gcc -DCAIRN_FAILPOINTS=ON
leg release gcc -DCMAKE_BUILD_TYPE=Release -DCAIRN_TEST_ROOMS='package'
leg clang clang -DCAIRN_FAILPOINTS=ON -DCAIRN_TEST_SLOW=OFF \
    -DCAIRN_TEST_ROOMS='unit/proto;unit/daemon;unit/client;unit/examples'
leg asan clang -DCAIRN_FAILPOINTS=ON -DCAIRN_TEST_SLOW=OFF -DCAIRN_SANITIZE='address,undefined' \
    -DCAIRN_TEST_ROOMS='unit/proto;unit/daemon;unit/client;unit/examples;integration;system;meta'
leg tsan clang -DCAIRN_FAILPOINTS=ON -DCAIRN_TEST_SLOW=OFF -DCAIRN_SANITIZE='thread' \
    -DCAIRN_TEST_ROOMS='unit/daemon;unit/client;meta'
run
