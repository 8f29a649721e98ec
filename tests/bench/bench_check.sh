#!/usr/bin/env bash
# bench_check.sh DIR: `cairn bench` computes what it says, measures what dd measures, and leaves
# nothing behind in DIR, however it ends. Times are printed, and not judged.
#
# The environment names the programs: CAIRN, CAIRND, BENCH_CHECK.
set -uo pipefail

: "${CAIRN:?}" "${CAIRND:?}" "${BENCH_CHECK:?}"
export REAL_CAIRND=$CAIRND
mib=64
rounds=3
mkdir -p "$1"
work=$(mktemp -d "$1/bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 run
mkdir disk
failed=0

fail() {
    failed=1
    echo "FAILED: $1"
    if [ -s err ]; then sed 's/^/    err: /' err; fi
}

nothing_left() {
    [ -z "$(ls -A disk)" ] || fail "$1 left in DIR: $(ls -A disk)"
    [ -z "$(ls -A run)" ] || fail "$1 left sockets: $(ls -A run)"
}

# ---- it says what it measured
cat >telling <<'END'
#!/bin/sh
exec "$REAL_CAIRND" "$@" 2>>cairnd.log
END
chmod +x telling
CAIRND=$work/telling "$CAIRN" bench --size ${mib}MiB --rounds $rounds --dir disk --json >out 2>err ||
    fail "bench exits with $?"
nothing_left "bench"
grep -q ' committed.* path=arena ' cairnd.log || fail "nothing was saved from warm memory"
grep -E ' bytes=[1-9].* path=inline ' cairnd.log && fail "it measures before its memory is warm"
best=$("$BENCH_CHECK" $mib $rounds <out 2>err) || fail "the JSON is not right"

# ---- the check itself turns red: a ratio, a verdict, a goal, a missing run, a missing row, one too many
red() {
    local what=$1
    shift
    if cmp -s out <(sed "$@" out); then
        fail "nothing to spoil: $what"
    elif sed "$@" out | "$BENCH_CHECK" $mib $rounds >/dev/null 2>&1; then
        fail "not noticed: $what"
    fi
}
red "another ratio" -E '1s/("ratio": )/\19/'
red "another verdict" -E '2s/("met": )(true|false)/\1\2_/; 2s/true_/false/; 2s/false_/true/'
red "another goal" -E '3s/("goal": )[0-9.]+/\11000/; 3s/("met": )false/\1true/'
red "a run less" -E '1s/("seconds": \[)[^,]*, /\1/'
red "another floor" -E '/"row": "small"/s/("floor_seconds": \[)/\19/'
red "other bytes" -E '6s/("bytes": )/\19/'
red "other new bytes" -E 's/("bytes_new": )/\19/'
red "a row less" 2d
red "a row twice" 2p

# ---- the disk's floor again, by dd
head -c ${mib}M /dev/urandom >bytes
least=
for _ in $(seq $rounds); do
    rm -f again
    if ! dd if=bytes of=again bs=4M oflag=direct conv=fsync 2>dd.err; then
        echo "no dd with O_DIRECT here: $(tail -n 1 dd.err)"
        least=
        break
    fi
    took=$(LC_ALL=C sed -nE 's/.*copied, ([0-9.e-]+) s.*/\1/p' dd.err)
    least=$(awk -v a="$took" -v b="${least:-$took}" 'BEGIN { print a < b ? a : b }')
done
if [ -n "$least" ] && [ -n "$best" ]; then
    awk -v a="$best" -v b="$least" 'BEGIN {
        printf "best raw write: bench %.3f s, dd %.3f s, %+.0f %%\n", a, b, (a / b - 1) * 100 }'
fi
rm -f bytes again

# ---- it fails in words
"$CAIRN" bench --size 1TiB --dir disk >out 2>err && fail "1 TiB found room"
grep -qF "are needed" err || fail "it does not say how much is needed"
: >err
"$CAIRN" bench --dir disk/none >out 2>err && fail "a directory that is not there will do"
grep -qF "disk/none" err || fail "it does not say which directory"
: >err
CAIRND=$work/none "$CAIRN" bench --dir disk >out 2>err && fail "it ran without a daemon"
grep -qF "cairn bench: \$CAIRND is no program: '$work/none'" err || fail "it does not say what is missing"
CAIRND=/bin/false "$CAIRN" bench --dir disk >out 2>err && fail "it ran with a daemon that ended"
grep -qF "cairn bench: cairnd ended (exit code 1) before it was ready" err ||
    fail "it does not say that the daemon ended"
grep -F "cairn exec" err && fail "it speaks as another command"
: >err
nothing_left "what was refused"

# ---- it is stopped: while the daemon starts, and in the midst of a round
mkfifo up
cat >daemon <<'END'
#!/bin/sh
echo "$PPID" >up
exec "$REAL_CAIRND" "$@"
END
chmod +x daemon

stopped() {
    local code=0
    kill -INT "$1"
    wait "$2" || code=$?
    [ $code -eq 130 ] || fail "stopped $3, it exits with $code, not 130"
    nothing_left "what was stopped $3"
}

# env: a command in the background of a shell would ignore the signal.
CAIRND=$work/daemon env --default-signal=INT \
    "$CAIRN" bench --size ${mib}MiB --rounds 99 --dir disk >out 2>err &
bench=$!
read -r -t 60 pid <up || fail "no daemon was started"
stopped "${pid:-$bench}" $bench "at the start"

# Progress is told to a terminal only.
mkfifo terminal
SHELL=/bin/sh CAIRND=$work/daemon script -qec \
    "exec env --default-signal=INT '$CAIRN' bench --size ${mib}MiB --rounds 99 --dir disk" /dev/null \
    </dev/null >terminal 2>err &
bench=$!
exec 3<terminal
read -r -t 60 pid <up || fail "no daemon was started"
text=
while [[ $text != *"round 2 of 99"* ]]; do
    read -r -t 60 -d $'\r' text <&3 || break
done
[[ $text == *"round 2 of 99"* ]] || fail "no second round was told"
cat <&3 >/dev/null &
stopped "${pid:-$bench}" $bench "in a round"

[ $failed -eq 0 ] && echo "bench: fine"
exit $failed
