#!/usr/bin/env bash
# deploy/quickstart.sh: install what is needed, build a release, and show what cairn is for.
#
# A network is trained on handwritten digits twice: once undisturbed and without cairn, once with its
# boundaries saved in cairn while trainer and daemon are killed with SIGKILL in the middle of an
# accumulation window, three times. Both must end with the same digest of the whole training state.
# Exits 0 only then. As root, or as a user with sudo; takes a few minutes; leaves build/release behind
# and nothing else.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$here")
build=$tree/build/release
patience_s=60

say() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}

give_up() {
    echo "quickstart: $*" >&2
    exit 1
}

say "1. Installing what is missing and building a release"
"$here/setup.sh" build
cmake -S "$tree" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCAIRN_TESTS=OFF >/dev/null
cmake --build "$build" -j "$(nproc)" | grep -E 'Built target|warning' || true
PATH=$build/client/cli:$build/daemon:$build/client/examples:$PATH

work=$(mktemp -d)
job=
trap 'if [ -n "$job" ]; then kill -9 "$job" 2>/dev/null; fi; rm -rf "$work"' EXIT

window=4 # microbatches that make one update
train=(digits --data "$tree/tests/data/digits.csv.gz" --run digits --width 180 --updates 120
    --microbatches-per-update "$window")

say "2. Training undisturbed, without cairn"
"${train[@]}" --no-save | tee "$work/calm.txt" | tail -n 3

# The trainer writes a line per event to a pipe: "started PID", "saved SEQ STEP MICROBATCH", ...
mkfifo "$work/events"
exec 3<>"$work/events"

# next_event WORD: wait for the next event of this name; $event has what follows the name. Looks
# every second whether the trainer is still there to send one.
next_event() {
    local name deadline=$((SECONDS + patience_s))
    while [ $SECONDS -lt $deadline ]; do
        if read -r -t 1 -u 3 name event; then
            [ "$name" != "$1" ] || return 0
        elif ! kill -0 "$job" 2>/dev/null; then
            break
        fi
    done
    cat "$work/out.txt" >&2
    give_up "no '$1' came from the trainer"
}

start_training() {
    # shellcheck disable=SC2016 # expanded by the inner shell, which becomes the trainer
    cairn exec --data "$work/data" -- sh -c 'echo "socket $CAIRN_SOCKET" >"$0"; exec "$@"' \
        "$work/events" "${train[@]}" --save-every 1 --events "$work/events" >"$work/out.txt" 2>&1 &
    job=$!
}

# Wait until 50 saves were made, and then for one with a window begun and not ended.
wait_for_mid_window() {
    local saves=0 microbatch=0
    while [ $saves -lt 50 ] || [ $((microbatch % window)) -eq 0 ]; do
        next_event saved
        read -r _ update microbatch <<<"$event"
        saves=$((saves + 1))
    done
    where="update $update, microbatch $((microbatch % window)) of $window"
}

say "3. Training again under 'cairn exec', which runs a private daemon; a save after every microbatch"
for round in 1 2 3; do
    start_training
    next_event socket
    socket=$event
    next_event started
    trainer=$event
    daemon=$(cairn status --json --socket "$socket" | grep -o '"pid": *[0-9]*' | grep -o '[0-9]*$')
    wait_for_mid_window
    kill -9 "$trainer" "$daemon"
    wait "$job" 2>/dev/null || true
    echo "   kill -9 number $round: trainer ($trainer) and daemon ($daemon), $where"
done

say "4. Starting it once more: it finds its run, resumes, and trains to the end"
start_training
next_event resumed
read -r seq update microbatch <<<"$event"
echo "   resumed from boundary $seq: update $update, microbatch $((microbatch % window)) of $window"
wait "$job" || { cat "$work/out.txt" && give_up "the resumed training failed"; }
job=
tail -n 3 "$work/out.txt"

say "5. What cairn has: the newest boundaries of the run, and what is in the last"
cairn exec --data "$work/data" -- cairn log digits | sed -n '1,12p'
cairn exec --data "$work/data" -- cairn show digits@latest | sed -n '1,26p'

calm=$(tail -n 1 "$work/calm.txt")
killed=$(tail -n 1 "$work/out.txt")
say "6. The two runs"
echo "   undisturbed:                  $calm"
echo "   killed three times, resumed:  $killed"
[[ $calm == digest* ]] || give_up "the undisturbed run printed no digest"
[ "$calm" = "$killed" ] || give_up "THE DIGESTS DIFFER"
cat <<'END'

The digests are equal: parameters, optimizer moments, pending gradients, learning-rate schedule,
random generator and position in the data are bit for bit those of a run that was never disturbed,
although trainer and storage daemon were killed without warning three times, each time with an
accumulation window half done. Nothing was repeated, nothing was skipped.
END
