#!/usr/bin/env bash
# sources.sh FOLDER...: our C files below these folders of the tree, one a line. Fails when there is
# none: a gate that looks at no file would pass for ever. Files below known_bad/ are what the gates
# are tried on, and are named only when FOLDER itself is below it.
set -euo pipefail

for folder in "$@"; do
    case $folder in
    *known_bad*) find "$folder" -name '*.[ch]' ;;
    *) find "$folder" -name known_bad -prune -o -name '*.[ch]' -print ;;
    esac
done | sort | grep .
