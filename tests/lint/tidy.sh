#!/usr/bin/env bash
# tidy.sh BUILD FOLDER...: clang-tidy, with the checks of .clang-tidy, is content with every C source
# below that BUILD compiles (headers are seen through the sources that include them).
set -euo pipefail

build=$1
shift
mapfile -t files < <("${BASH_SOURCE%/*}/sources.sh" "$@" | grep '\.c$')
sources=()
for file in "${files[@]}"; do
    if grep -qF "\"file\": \"$(realpath "$file")\"" "$build/compile_commands.json"; then
        sources+=("$file")
    else
        echo "tidy: $file is not built here" >&2
    fi
done
[ ${#sources[@]} -gt 0 ] || { echo "tidy: no source in $*" && exit 1; }
clang-tidy --quiet -p "$build" "${sources[@]}" 2> >(grep -v ' generated\.$' >&2)
echo "tidy: ${#sources[@]} sources are clean"
