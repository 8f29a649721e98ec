#!/usr/bin/env bash
# install.sh CMAKE BUILD CONSUMER: install BUILD below a new prefix, and use what is there as a
# stranger would: with pkg-config and with find_package, shared and static.
set -euo pipefail

cmake=$1 build=$2 consumer=$3
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
step() {
    echo "install: $*"
}

step "install"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
for file in bin/cairn sbin/cairnd lib/libcairn.so lib/libcairn.a include/cairn/training.h \
    lib/systemd/system/cairnd.service; do
    [ -e "$prefix/$file" ] || { echo "install: no $file" && exit 1; }
done
[ ! -e "$prefix/include/internal" ] || { echo "install: internal headers" && exit 1; }
export LD_LIBRARY_PATH=$prefix/lib
"$prefix/bin/cairn" --version
"$prefix/sbin/cairnd" --help >/dev/null

step "the daemon's user"
systemd-sysusers --dry-run "$prefix/lib/sysusers.d/cairn.conf" >/dev/null

step "pkg-config"
# The paths in the .pc file are those that the build was configured with: say where it went instead.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
pc=(pkg-config --define-variable=libdir="$prefix/lib" --define-variable=includedir="$prefix/include")
read -ra flags <<<"$("${pc[@]}" --cflags --libs cairn)"
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$prefix/shared" "$consumer/consumer.c" "${flags[@]}"
"$prefix/shared"

step "find_package"
"$cmake" -S "$consumer" -B "$prefix/consumer" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$prefix/consumer" >/dev/null
"$prefix/consumer/shared"
env -u LD_LIBRARY_PATH "$prefix/consumer/static"

step "all captures and restores, with a daemon"
code=0
"$prefix/bin/cairn" exec --data "$prefix/data" -- "$prefix/consumer/all_calls" >"$prefix/calls" || code=$?
cat "$prefix/calls"
[ $code -eq 0 ]
[ "$(grep -c ': there and back$' "$prefix/calls")" -eq 12 ]

step "what a trainer is made to load: libc and protobuf-c, nothing else"
readelf -d "$prefix/lib/libcairn.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$prefix/needed"
if grep -vE '^(libc|libprotobuf-c|ld-linux-x86-64)\.so' "$prefix/needed"; then
    exit 1
fi
