#!/usr/bin/env bash
# growth.sh DIR [MIB_MOST]: how time and memory grow with what is saved, on the disk that DIR is on: the
# size of a state, the number of tensors, of trainers at once, of runs and of boundaries. Takes minutes,
# and twice MIB_MOST (4096) in memory. Figures to read, not a test.
#
# The environment names the programs: CAIRN, CAIRND, GROWTH.
set -euo pipefail

: "${CAIRN:?}" "${CAIRND:?}" "${GROWTH:?}" "${1:?growth.sh DIR [MIB_MOST]}"
most=${2:-4096}
work=$(mktemp -d "$1/growth.XXXXXX")
lists=$(mktemp -d /dev/shm/growth.XXXXXX) # 100 000 commits, of which the disk's time is not asked
trap 'rm -rf "$work" "$lists"' EXIT

mib=64
while [ $mib -le "$most" ]; do
    "$CAIRN" exec --data "$work" -- "$GROWTH" bytes $mib
    mib=$((mib * 4))
done
for count in 10 1000 100000 1000000; do
    "$CAIRN" exec --data "$work" -- "$GROWTH" entries $count
done
for count in 1 2 4 8 16; do
    "$CAIRN" exec --data "$work" -- "$GROWTH" trainers 128 $count
done

"$CAIRN" exec --data "$lists" -- "$GROWTH" runs 1000
"$CAIRN" exec --data "$lists" -- "$GROWTH" boundaries 100000
timed() {
    local start end lines
    start=$(date +%s%N)
    lines=$("$CAIRN" exec --data "$lists" -- "$CAIRN" "$@" | wc -l)
    end=$(date +%s%N)
    echo "cairn $*: $lines lines in $(((end - start) / 1000000)) ms, a daemon's start and end included"
}
timed runs
timed log long
timed log long -n 100000
