#!/usr/bin/env bash
# symbols.sh LIBRARY ARCHIVE MAP failpoints|release HEADER...: what the shared library and the archive export, what cairn.map
# lists and what the public headers declare are the same names; and the library needs protobuf-c and libc only. ARCHIVE is
# "none" where a sanitizer has its names in it.
set -euo pipefail

library=$1
archive=$2
map=$3
build=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Comments out of the way, then every name right before the "(" of a CAIRN_API declaration.
cat "$@" | sed 's|/\*.*\*/||' | sed '/\/\*/,/\*\//d' | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*CAIRN_API[^(]*[ *]\(cairn_[a-z0-9_]*\)(.*/\1/p' | sort >"$work/headers"
sed -n 's/^ *\(cairn_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$work/map"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/library"

[ -s "$work/headers" ] || { echo "symbols: no declaration was found" && exit 1; }
bad=0
diff --label headers --label cairn.map "$work/headers" "$work/map" || bad=1
diff --label cairn.map --label "$library" "$work/map" "$work/library" || bad=1
if [ "$archive" != none ]; then
    nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | sort >"$work/archive"
    diff --label cairn.map --label "$archive" "$work/map" "$work/archive" || bad=1
fi

# What it drags in. A sanitizer's runtime is the test's own doing.
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc\.so|libprotobuf-c\.so|lib(asan|ubsan|tsan)\.so|libgcc_s\.so|ld-linux)' || true)
[ -z "$needed" ] || { echo "symbols: it needs $needed" && bad=1; }
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libcairn.so.0 ] || { echo "symbols: its soname is '$soname'" && bad=1; }

# What the library must never do to its host. Failpoints are for tests, and kill.
banned='exit|_exit|sigaction|signal|fork' # a thread is started by cairn_warm, which is asked for it
[ "$build" = failpoints ] || banned="$banned|abort|kill|raise"
banned=$(nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $2); print $2 }' |
    grep -xE "$banned" || true)
[ -z "$banned" ] || { echo "symbols: it calls $banned" && bad=1; }

[ $bad -eq 0 ] && echo "symbols: $(wc -l <"$work/library") exported, as declared"
exit $bad
