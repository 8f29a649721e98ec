#!/usr/bin/env bash
# The command against a real daemon (which `cairn exec` starts): status, runs, log, show, verify, with
# and without --json, their exit codes, and a daemon killed under a trainer.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
. "$here/../support/expect.sh"
me=$(id -un 2>/dev/null) || true # a uid without a name is its number

# ---- wrong usage
expect 4 "$CAIRN"
expect 4 "$CAIRN" bogus
has err "no command 'bogus'"
expect 4 "$CAIRN" --bogus status
expect 4 "$CAIRN" log
expect 4 "$CAIRN" log demo --max 0
expect 4 "$CAIRN" log demo --max 1x
expect 4 "$CAIRN" status more
expect 4 "$CAIRN" show a b c
expect 4 "$CAIRN" show @latest
for command in log show verify; do
    expect 4 "$CAIRN" "$command" demo@
done
expect 4 "$CAIRN" --json exec -- touch was-run
has err --json
# What drives a terminal is told as text, in a word, an option and a value.
for words in $'status \033[31mred' $'status --\033[31mred' $'status -q\033[31m' $'--\033[31mred status' \
    $'log demo --max \033[31mred' $'--socket x --\033[31mred status'; do
    # shellcheck disable=SC2086 # words
    expect 4 "$CAIRN" $words
    has err '\033[31m'
    hasnt err $'\033'
done
expect 0 "$CAIRN" --version
has out "cairn "
expect 0 "$CAIRN" --help
has out "Exit codes:"
has out "no such run, boundary or entry"
for command in status runs log show verify keep du rollback pin unpin pins label rm exec bench; do
    expect 0 "$CAIRN" --help
    has out "  $command"
    expect 0 "$CAIRN" "$command" --help
    has out "Usage: cairn $command"
    mv out help.out
    expect 0 "$CAIRN" help "$command"
    same "$(cat help.out)" "$(cat out)" "cairn help $command"
done

# ---- no daemon
export CAIRN_SOCKET=$work/none.sock
for command in status runs 'log demo' 'show demo' 'verify demo' 'keep demo' 'rollback demo@1' 'rm --yes demo@1' 'pin demo@1 --name x' 'unpin demo@1 --name x' 'pins demo' 'label demo@1 a=b'; do
    # shellcheck disable=SC2086 # words
    expect 2 "$CAIRN" $command
    has err "cairn exec"
    # shellcheck disable=SC2086 # words
    expect 2 "$CAIRN" $command --json
    json CAIRN_ECONN error code
done
expect 2 "$CAIRN" --socket "$work/other.sock" status
has err other.sock

# ---- an empty daemon
daemon_start data
expect 0 "$CAIRN" status
same "fine: nothing needs a hand" "$(head -n 1 out)" "the first line of status"
has out "$work/data"
expect 0 "$CAIRN" status --quiet
same '' "$(cat out)" "what status --quiet says"
expect 0 "$CAIRN" --json status
json true ok
json 0 attention
json "$work/data" data_dir
json 0 arenas
json 0 rings
json 0 arena_lent_bytes
json 0 arena_own_bytes
json 68719476736 arena_bytes
json 17179869184 resident_bytes
json 0 resident_kept_bytes
json 0 resident_records
case $("$PROBE" json io_mode <out) in
direct) json '' io_why ;;
buffered) hasnt out '"io_why": ""' ;;
*) same 'direct or buffered' "$("$PROBE" json io_mode <out)" io_mode ;;
esac
expect 0 "$CAIRN" --socket "$CAIRN_SOCKET" runs
same '' "$(cat out)" "the runs of an empty daemon"
expect 0 "$CAIRN" runs --json
json 0 runs
expect 3 "$CAIRN" log demo
has err demo
expect 3 "$CAIRN" log demo --json
json CAIRN_ENOENT error code
expect 3 "$CAIRN" show demo
expect 3 "$CAIRN" verify demo

# ---- three boundaries, two of one step
expect 0 "$SMALL_TRAINER" demo save 10 loss=0.5
expect 0 "$SMALL_TRAINER" demo save 20 note=$'t\xc3\xbcr \xe2\x80\xaex'
expect 0 "$SMALL_TRAINER" demo save 20
expect 0 "$SMALL_TRAINER" demo check 20
expect 0 "$CAIRN" runs
has out demo
has out BOUNDARIES
expect 0 "$CAIRN" runs --quiet
hasnt out BOUNDARIES
expect 0 "$CAIRN" runs --json
json 1 runs
json demo runs 0 name
json "$me" runs 0 user
json 3 runs 0 boundaries
json 20 runs 0 latest_step
json false runs 0 poisoned
if [ "$(id -u)" -eq 0 ]; then
    expect 0 "$CAIRN" runs --all
    has out demo
else
    expect 5 "$CAIRN" runs --all
fi

# ---- log
expect 0 "$CAIRN" log demo
has out "loss=0.5"
has out "note=tür \\342\\200\\256x"
has out "SAVE ID"
whole_id=$(grep -oE '[0-9a-f]{32}' out | head -n 1)
expect 0 "$CAIRN" log "demo@id:$whole_id" --max 1 --json
json 3 boundaries 0 seq
expect 0 "$CAIRN" log demo
same 4 "$(wc -l <out)" "the lines of log"
expect 0 "$CAIRN" log demo --quiet --max 1
same 1 "$(wc -l <out)" "the lines of log --quiet --max 1"
expect 0 "$CAIRN" log demo --json
json demo run
json 3 boundaries
json 3 boundaries 0 seq
json 2 boundaries 1 seq
json 10 boundaries 2 step
json 0.5 boundaries 2 labels loss
json 0 boundaries 0 labels
json plain boundaries 0 kind
json native boundaries 0 precision
json true boundaries 0 exact
json 2 boundaries 0 parent_seq
json 6 boundaries 0 entries
save_id=$("$PROBE" json boundaries 2 save_id <out)
root=$("$PROBE" json boundaries 2 root <out)
bytes=$("$PROBE" json boundaries 2 bytes <out)
expect 0 "$CAIRN" log demo@10 --json
json 1 boundaries
json 10 boundaries 0 step
expect 0 "$CAIRN" log demo@latest~1 --max 1 --json
json 1 boundaries
json 2 boundaries 0 seq
expect 3 "$CAIRN" log demo@seq:99
expect 4 "$CAIRN" log demo@nonsense
expect 4 "$CAIRN" log 'bad!name'
for name in "$me/demo" "$(id -u)/demo" "demo@id:$save_id" "demo@20"; do
    expect 0 "$CAIRN" log "$name"
done

expect 4 "$CAIRN" log no-such-user/demo
has err no-such-user

# More than the command asks for at once: nothing twice, nothing left out, at the seam too.
expect 0 "$SMALL_TRAINER" long series 70
for max in 63 64 65 70 100; do
    expect 0 "$CAIRN" log long --quiet --max "$max"
    same "$(seq 70 -1 1 | head -n "$max")" "$(awk '{print $1}' out)" "log --max $max"
done
expect 0 "$CAIRN" log long --quiet
same 20 "$(wc -l <out)" "the lines of log without --max"

# ---- show
expect 0 "$CAIRN" show demo@seq:1
has out "save id    $save_id"
has out "root       $root"
has out "label      loss=0.5"
has out "model/layer1.weight"
has out "[512,512]"
same 18446744073709551609 "$(awk '$1 == "optimizer/momentum" { print $2 }' out)" "an id of 64 bits"
has out "state/minus zero"
has out "-0.0"
has out '\x1b[31m'
hasnt out $'\033'
expect 0 "$CAIRN" show demo 'model/'
has out model/layer1.weight
hasnt out optimizer/momentum
expect 0 "$CAIRN" show demo '*/mom*' --quiet
same 1 "$(wc -l <out)" "the lines of show with a glob"
has out optimizer/momentum
expect 0 "$CAIRN" show demo optimizer/momentum --json
json 18446744073709551609 entries 0 id
expect 3 "$CAIRN" show demo nothing/there
has err nothing/there
expect 3 "$CAIRN" show demo nothing/there --json
json 0 entries
expect 0 "$CAIRN" show "demo@id:$save_id" --json
json demo run
json "$save_id" boundary save_id
json "$root" boundary root
json "$bytes" boundary bytes
json 0.5 boundary labels loss
json model components 0 component
json small components 0 type
json 1 components 0 entries
json 1048576 components 0 bytes
json 6 entries
json model entries 0 component
json layer1.weight entries 0 path
json tensor entries 0 kind
json 7 entries 0 id
json 512 entries 0 shape 1
json true entries 0 trainable
expect 0 "$CAIRN" show demo state/step --json
json 1 entries
json u64 entries 0 kind
json 20 entries 0 value
# shellcheck disable=SC2317 # called by expect
show_to_full_disk() {
    "$CAIRN" show demo --json >/dev/full
}
expect 5 show_to_full_disk
show_to_nobody() {
    "$CAIRN" show demo --json >&-
}
expect 5 show_to_nobody

# ---- verify, whole
expect 0 "$CAIRN" verify demo
has out whole
expect 0 "$CAIRN" verify demo --json
json true ok
json 3 boundaries
json 0 findings
json null selector
expect 0 "$CAIRN" verify demo@seq:1 --json
json 1 boundaries
json seq:1 selector
expect 3 "$CAIRN" verify demo@seq:99

# ---- a second exec on the same data joins the daemon that serves it, and leaves it alone
# shellcheck disable=SC2016 # for the inner shell
print_socket='echo "$CAIRN_SOCKET"'
expect 0 env -u CAIRN_SOCKET "$CAIRN" exec --data ./data/ -- sh -c "$print_socket"
same "$CAIRN_SOCKET" "$(cat out)" "the socket of the second exec"
has err joins
same 600 "$(stat -c %a data/socket)" "the mode of data/socket"
expect 0 "$CAIRN" exec --quiet --data data -- "$CAIRN" log demo --max 1 --json
json 3 boundaries 0 seq
same '' "$(cat err)" "what a quiet second exec says"
expect 7 "$CAIRN" exec --data data -- sh -c 'exit 7'
expect 127 "$CAIRN" exec --data data -- "$work/nonesuch"
expect 0 "$CAIRN" status
# A name that does not lead to the daemon of this directory is passed over.
expect 0 "$CAIRN" exec --data forged -- true
cp data/socket forged/socket
expect 0 "$CAIRN" exec --data forged -- sh -c "$print_socket"
same no "$([ "$(cat out)" = "$CAIRN_SOCKET" ] && echo yes || echo no)" "whether another's daemon was joined"
same no "$([ -e forged/socket ] && echo yes || echo no)" "whether the name outlived its daemon"
mv data/socket named
expect 125 "$CAIRN" exec --data data -- touch was-run
has err "in use by process"
same no "$([ -e was-run ] && echo yes || echo no)" "whether the command was run"
mkfifo data/socket
expect 125 "$CAIRN" exec --data data -- touch was-run
rm data/socket
mv named data/socket
daemon_stop
same no "$([ -e data/socket ] && echo yes || echo no)" "whether data/socket outlived its daemon"

# ---- a byte of a segment turned over on the disk
segment=$(find data/runs -path '*segments/*' -type f | sort | head -n 1)
printf '\377' | dd of="$segment" bs=1 seek=5000 conv=notrunc status=none
daemon_start data
expect 1 "$CAIRN" verify demo
has out damaged
has out model
expect 1 "$CAIRN" verify demo --json
json false ok
json model findings 0 component
json 1 findings 0 seq
expect 0 "$SMALL_TRAINER" demo check 20
expect 0 "$CAIRN" verify demo@latest
daemon_stop

# ---- a daemon lost in the middle of a check: what was found until then is told
# verify_lost ARGUMENT...: the output of verify, whose daemon is killed at its second boundary
verify_lost() {
    local pid code=0
    timeout 60 "$CAIRN" verify demo "$@" >lost.out 2>lost.err &
    verify_pid=$!
    timeout 60 cat held >held.out # held, and what was found before is on its way ...
    expect 0 "$CAIRN" status --json
    pid=$("$PROBE" json pid <out) # ... and sent: one who asked later has been answered
    kill -KILL "$pid"
    wait "$verify_pid" || code=$?
    same 2 "$code" "the exit code of a check whose daemon is lost"
    mv lost.out out
    mv lost.err err
}
if [ -n "${FAILPOINTS:-}" ]; then
    segment=$(find data/runs -path '*demo/segments/*' -type f | sort | tail -n 1)
    printf '\377' | dd of="$segment" bs=1 seek=5000 conv=notrunc status=none
    mkfifo held held.go
    CAIRN_FAILPOINT=verify_chunk:hold=$work/held:2 daemon_start data
    verify_lost
    has out "seq 3 model"
    hasnt out damaged:
    # Until the next daemon serves there is nobody to ask.
    timeout 60 sh -c 'until grep -q "serves again" daemon.err; do :; done'
    same 0 $? "waiting for the next daemon"
    verify_lost --json
    json false ok
    json CAIRN_ECONN error code
    json 3 findings 0 seq
    daemon_stop
fi

# ---- a daemon killed under a trainer; data kept; the next exec goes on with it
expect 0 "$CAIRN" exec --data other -- "$SMALL_TRAINER" demo across-kill 5
has err "starting it again"
has err "signal 9"
expect 0 "$CAIRN" exec --data other -- "$SMALL_TRAINER" demo check 6
expect 0 "$CAIRN" exec --data other -- "$SMALL_TRAINER" demo save 7
expect 0 "$CAIRN" exec --data other -- "$CAIRN" log demo --json
json 3 boundaries
json 7 boundaries 0 step
expect 0 "$CAIRN" exec --data other -- "$CAIRN" verify demo

# ---- the example does not go on under another configuration; length and saves are free
train=("$CAIRN" exec --data trained -- "$DIGITS" --data "$here/../data/digits.csv.gz")
expect 0 "${train[@]}" --updates 4
expect 1 "${train[@]}" --updates 8 --microbatches-per-update 5
has err window=4
has err window=5
expect 1 "${train[@]}" --updates 8 --scheduler step
expect 0 "${train[@]}" --updates 8 --save-every 3 --seed 2
has out "resumed after microbatch 16"

# ---- a run that a failed sync made read-only needs a hand
if [ -n "${FAILPOINTS:-}" ]; then
    CAIRN_FAILPOINT=segment_sync:eio daemon_start sick
    expect 1 "$SMALL_TRAINER" demo save 1
    expect 1 "$CAIRN" status
    same "needs a hand" "$(head -n 1 out | cut -c 1-12)" "the first line of status"
    has out demo
    expect 1 "$CAIRN" status --json
    json false ok
    daemon_stop
fi

same '' "$(ls "$XDG_RUNTIME_DIR")" "what is left in the runtime directory"
finish
