#!/usr/bin/env bash
# format.sh FOLDER...: every C file below is formatted as .clang-format says. `clang-format -i` mends.
set -euo pipefail

mapfile -t files < <("${BASH_SOURCE%/*}/sources.sh" "$@")
[ ${#files[@]} -gt 0 ] || { echo "format: no file in $*" && exit 1; }
clang-format --dry-run -Werror "${files[@]}"
echo "format: ${#files[@]} files are well formed"
