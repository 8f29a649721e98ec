#!/usr/bin/env bash
# cairn exec against daemons that behave and that do not (fake_cairnd): exit codes, signals, restarts,
# what is left behind.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
. "$here/../support/expect.sh"
export CAIRND=$FAKE_CAIRND

# The daemon that does not stop needs its 12 s: begun first, looked at last.
# shellcheck disable=SC2153 # CAIRN is checked by expect.sh
FAKE=deaf "$CAIRN" exec --data deaf -- true >deaf.out 2>deaf.err &
deaf_pid=$!

# ---- the command's exit code is ours
export FAKE=good
expect 0 "$CAIRN" exec -- true
same 700 "$(stat -c %a cairn-data)" "the mode of ./cairn-data"
same 600 "$(stat -c %a cairn-data/cairnd.log)" "the mode of the log"
expect 7 "$CAIRN" exec --data data -- sh -c 'exit 7'
# shellcheck disable=SC2016 # for the inner shell
expect 143 "$CAIRN" exec --data data -- sh -c 'kill -TERM $$'
expect 127 "$CAIRN" exec --data data -- "$work/nonesuch"
has err nonesuch
expect 126 "$CAIRN" exec --data data -- /etc/passwd

# ---- the command's words are its own, and it hears where the daemon is
expect 0 "$CAIRN" exec --data data echo --json -x -- --help
same '--json -x -- --help' "$(cat out)" "what the command got"
# shellcheck disable=SC2016 # for the inner shell
expect 0 "$CAIRN" exec --data data -- sh -c 'echo "$CAIRN_SOCKET"; stat -c %a "${CAIRN_SOCKET%/*}"; pwd'
has out "$XDG_RUNTIME_DIR/cairn-exec."
has out 700
has out "$work"
printf 'through\n' >in
expect 0 "$CAIRN" exec --data data -- cat <in
has out through

# ---- a socket's path is short: a deep runtime directory is passed over
deep=$work/$(printf 'd%.0s' {1..90})
mkdir "$deep"
# shellcheck disable=SC2016 # for the inner shell
XDG_RUNTIME_DIR=$deep expect 0 "$CAIRN" exec --data data -- sh -c 'echo "$CAIRN_SOCKET"'
has out /tmp/cairn-exec.

# ---- signals reach the command
mkfifo up
for signal in TERM INT HUP USR1 ALRM; do
    "$CAIRN" exec --data signals -- "$PROBE" until-term 9 up >out 2>err &
    exec_pid=$!
    read -r _ <up
    kill -"$signal" "$exec_pid"
    wait "$exec_pid"
    same 9 $? "the exit code after SIG$signal"
done

# A terminal that goes away tells the leader of its session alone.
SHELL=/bin/sh script -qec "exec '$CAIRN' exec --data signals -- '$PROBE' until-term 9 up" /dev/null \
    </dev/null >out 2>err &
script_pid=$!
read -r _ <up
exec_pid=$(cat "/proc/$script_pid/task/$script_pid/children")
kill -KILL "$script_pid"
wait "$script_pid" 2>killed.err
"$PROBE" wait-end "${exec_pid% }" 10000
same 0 $? "the end of exec after its terminal went away"

# ---- without standard descriptors nothing goes where it does not belong
"$CAIRN" exec --data closed -- sh -c '[ -c /proc/self/fd/1 ]' >&- 2>err
same 0 $? "whether a device stands in for a closed stdout"
same '' "$(cat err)" "what is said with a closed stdout"
"$CAIRN" exec --data closed -- true <&- >&- 2>&-
same 0 $? "the exit code with nothing open"

# ---- what cannot work says so, and the command is not run
FAKE=broken expect 125 "$CAIRN" exec --data fresh -- touch was-run
same cairnd.log "$(ls -A fresh)" "what a daemon that never was ready leaves in a fresh directory"
FAKE=broken expect 125 "$CAIRN" exec --data data -- touch was-run
has err 'exit code 3'
has err 'the data is \033[31mheld\033[0m by another daemon'
same no "$([ -e was-run ] && echo yes || echo no)" "whether the command was run"
CAIRND=$work/none expect 125 "$CAIRN" exec --data data -- true
has err "$work/none"
expect 0 cp "$CAIRN" "$work/cairn-alone"
CAIRND='' PATH=/usr/bin:/bin expect 125 "$work/cairn-alone" exec --data data -- true
has err "no cairnd beside this program"
expect 125 "$CAIRN" exec --data "$work/no/such/parent" -- true
expect 4 "$CAIRN" exec --data data
expect 4 "$CAIRN" exec --bogus -- true
expect 4 "$CAIRN" --socket /nowhere exec -- true

# ---- $CAIRND, then the one beside, then $PATH
cp "$FAKE_CAIRND" "$work/cairnd"
CAIRND='' expect 3 "$work/cairn-alone" exec --data data -- sh -c 'exit 3'
rm "$work/cairnd"
mkdir bin
cp "$FAKE_CAIRND" bin/cairnd
CAIRND='' PATH=$work/bin:/usr/bin:/bin expect 3 "$work/cairn-alone" exec --data data -- sh -c 'exit 3'

# ---- a daemon that dies again and again is given up, the command goes on
mkfifo go
FAKE=crash "$CAIRN" exec --data crash -- sh -c 'read -r _ <go; exit 5' >out 2>err &
exec_pid=$!
# The line of giving up is the event: the log is followed until it comes.
timeout 60 sh -c 'tail -n +1 -f err | grep -q "given up"'
same 0 $? "waiting for the end of the restarts"
echo >go
wait "$exec_pid"
same 5 $? "the exit code of the command that outlived its daemon"
same 20 "$(grep -c 'starting it again' err)" "the number of restarts"
has err 'signal 9'

# ---- exec killed without warning: the daemon goes too
mkfifo up2
# shellcheck disable=SC2016 # for the inner shell
"$CAIRN" exec --data killed -- sh -c 'echo "$CAIRN_SOCKET" >socket; exec "$PROBE" until-term 0 up2' \
    >out 2>err &
exec_pid=$!
read -r _ <up2
children=$(cat "/proc/$exec_pid/task/$exec_pid/children")
kill -KILL "$exec_pid"
wait "$exec_pid" 2>killed.err
for pid in $children; do
    if [ "$(stat -L -c %i "/proc/$pid/exe" 2>/dev/null)" = "$(stat -L -c %i "$PROBE")" ]; then
        kill -TERM "$pid"
    fi
    "$PROBE" wait-end "$pid" 10000
    same 0 $? "the end of child $pid after exec was killed"
done
left=$(dirname "$(cat socket)")

# ---- what it left is removed by the next one, what others still live in is not
same yes "$([ -d "$left" ] && echo yes || echo no)" "whether the killed exec left its directory"
mkdir "$XDG_RUNTIME_DIR/cairn-exec.foreign" # no lock: may be one that is being made
"$CAIRN" exec --data lives -- "$PROBE" until-term 0 up2 >out 2>err &
exec_pid=$!
read -r _ <up2
same no "$([ -d "$left" ] && echo yes || echo no)" "whether it is there after the next exec"
before=$(ls "$XDG_RUNTIME_DIR")
expect 0 "$CAIRN" exec --data data -- true
same "$before" "$(ls "$XDG_RUNTIME_DIR")" "the directories that are lived in"
kill -TERM "$exec_pid"
wait "$exec_pid"
same 0 $? "the exit code of the one that lived"
rmdir "$XDG_RUNTIME_DIR/cairn-exec.foreign"

# ---- the daemon that does not stop is killed after a bounded time
wait "$deaf_pid"
same 0 $? "the exit code with a deaf daemon"
cp deaf.err err
has err 'did not stop within 12 s'
has err 'signal 9'

same '' "$(ls "$XDG_RUNTIME_DIR")" "what is left in the runtime directory"
finish
