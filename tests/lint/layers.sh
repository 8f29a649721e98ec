#!/usr/bin/env bash
# layers.sh: who may include whom. A row names a folder and the includes that may not stand in it;
# what is not forbidden is allowed. A folder that is not there fails, so a row cannot go stale.
set -euo pipefail

bad=0

# forbid FOLDER WHAT [EXCEPT]: no file below FOLDER, but those that match EXCEPT, includes WHAT.
forbid() {
    local folder=$1 what=$2 except=${3:-^$} hits
    [ -d "$folder" ] || { echo "layers: no folder $folder" && bad=1 && return; }
    hits=$(grep -rnE "^ *# *include *[<\"]($what)" --include='*.[ch]' "$folder" |
        grep -vE "$except" || true)
    if [ -n "$hits" ]; then
        printf 'layers: %s may not include %s\n%s\n' "$folder" "$what" "$hits"
        bad=1
    fi
}

loop='uv\.h'
lmdb='lmdb\.h'
protobuf='protobuf-c|.*\.pb-c\.h'

forbid include/cairn "$loop|$lmdb|$protobuf|internal/|wire/|record/|sys/|systemd"
forbid include/internal "$loop|$lmdb|$protobuf|wire/|record/|store/|net/|ops/|work/"
forbid proto/record "$loop|$lmdb|$protobuf|wire/|store/|net/|ops/|work/|lib/"
forbid proto/wire "$loop|$lmdb|sys/socket|store/|net/|ops/|work/|lib/"
# Protobuf's types stay in the codec.
forbid proto/wire "$protobuf" '/(codec|rows|bump)[a-z_]*\.[ch]:'
forbid client/lib "$loop|$lmdb|$protobuf|systemd|jansson|libsmartcols|store/|net/|ops/|work/"
forbid client/cli "$loop|$lmdb|$protobuf|wire/|store/|net/|ops/|work/"
forbid client/examples "$loop|$lmdb|$protobuf|internal/|wire/|record/|store/|net/|ops/|work/|lib/"
forbid daemon/store "$loop|$protobuf|systemd|net/|ops/|work/"
forbid daemon/arena "$loop|$lmdb|$protobuf|systemd|store/|net/|ops/|work/|wire/|record/"
forbid daemon/work "$lmdb|$protobuf|store/|net/|ops/"
forbid daemon/net "$lmdb|$protobuf|store/"
forbid daemon/ops "$lmdb|$protobuf"

[ $bad -eq 0 ] && echo "layers: kept"
exit $bad
