#!/usr/bin/env bash
# torch.sh MIB DIR: what torch.save and fsync of a state cost, beside cairn, on the disk that DIR is on.
# Figures to read, not a test. Needs Debian's python3-torch; where that is missing it says so.
#
# The state is that of `cairn bench`: a model and two moments of an optimizer, in tensors of 32 MiB. torch
# saves it from memory that it has used before: its first round is not counted. It goes first and last,
# so that neither has the better half of the disk's mood.
#
# The environment names the programs: CAIRN, CAIRND.
set -euo pipefail

: "${CAIRN:?}" "${CAIRND:?}" "${2:?torch.sh MIB DIR}"
mib=$1
dir=$2
rounds=5
python=/usr/bin/python3

if ! $python -c 'import torch' 2>/dev/null; then
    echo "torch.sh: nothing is compared: install python3-torch"
    exit 0
fi
work=$(mktemp -d "$dir/torch.XXXXXX")
trap 'rm -rf "$work"' EXIT

torch_seconds() {
    $python - "$mib" "$work/state.pt" $rounds <<'PYTHON'
import os, sys, time, torch
mib, path, rounds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
third = max(mib // 3 // 32, 1)
count = {"model": max(mib // 32, 3) - 2 * third, "exp_avg": third, "exp_avg_sq": third}
state = {name: {str(i): torch.rand(32 * 1024 * 1024 // 4) for i in range(n)} for name, n in count.items()}
for i in range(rounds + 1):
    start = time.monotonic()
    with open(path, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    if i > 0:
        print(time.monotonic() - start)
    os.unlink(path)
os.sync()
PYTHON
}

torch_seconds >"$work/torch"
"$CAIRN" bench --size "${mib}MiB" --rounds $rounds --dir "$work" --json >"$work/cairn"
torch_seconds >>"$work/torch"

median() {
    LC_ALL=C sort -g | awk '{ t[NR] = $1 } END { print (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2 }'
}
row() {
    sed -nE "s/.*\"row\": \"$1\",.*\"seconds\": \[([^]]*)\].*/\1/p" "$work/cairn" | tr ',' '\n' | median
}
awk -v torch="$(median <"$work/torch")" -v blocked="$(row capture)" -v durable="$(row save)" -v mib="$mib" 'BEGIN {
    printf "torch.save and fsync of %d MiB: %.3f s\n", mib, torch
    printf "cairn, until the trainer goes on: %.3f s, %.1f times faster (goal 15)\n", blocked, torch / blocked
    printf "cairn, until it is durable:       %.3f s, %.1f times faster (goal 3)\n", durable, torch / durable
}'
