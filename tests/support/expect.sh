# expect.sh: what the shell tests share. Source it; end with `finish`.
#
# The caller's environment names the programs: CAIRN, CAIRND, PROBE, FAKE_CAIRND, SMALL_TRAINER.
# shellcheck shell=bash
set -uo pipefail

: "${CAIRN:?}" "${CAIRND:?}" "${PROBE:?}" "${FAKE_CAIRND:?}" "${SMALL_TRAINER:?}"
for program in "$CAIRN" "$CAIRND" "$PROBE" "$FAKE_CAIRND" "$SMALL_TRAINER"; do
    if [ ! -x "$program" ]; then
        echo "no program '$program': build it first"
        exit 1
    fi
done
work=$(mktemp -d /tmp/cairn-test.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C.UTF-8 XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
unset CAIRN_SOCKET
failed=0
checked=0

# A check's verdict: complain PROBLEM, or nothing.
verdict() {
    checked=$((checked + 1))
    if [ -n "$1" ]; then
        failed=$((failed + 1))
        printf 'FAILED line %s: %s\n' "${BASH_LINENO[1]}" "$1"
        sed 's/^/    out: /' "$work/out"
        sed 's/^/    err: /' "$work/err"
    fi
}

# expect CODE COMMAND...: runs it; what it printed is in $work/out and $work/err.
expect() {
    local want=$1 code=0
    shift
    "$@" >"$work/out" 2>"$work/err" || code=$?
    local problem=
    [ "$code" -eq "$want" ] || problem="'$*' exits with $code, not $want"
    # A sanitizer's exit code may be the one that is wanted.
    if grep -qE "Sanitizer|runtime error:" "$work/err"; then
        problem="'$*' was stopped by a sanitizer"
    fi
    verdict "$problem"
}

# has STREAM TEXT, hasnt STREAM TEXT: of the last command's out or err.
has() {
    local problem=
    grep -qF -- "$2" "$work/$1" || problem="no '$2' in $1"
    verdict "$problem"
}

hasnt() {
    local problem=
    if grep -qF -- "$2" "$work/$1"; then
        problem="'$2' in $1"
    fi
    verdict "$problem"
}

# json VALUE KEY...: the last command's out is one JSON document with VALUE there.
json() {
    local want=$1 got problem=
    shift
    got=$("$PROBE" json "$@" <"$work/out" 2>&1) || true
    [ "$got" = "$want" ] || problem="JSON [$*] is '$got', not '$want'"
    verdict "$problem"
}

# same WANT GOT WHAT
same() {
    local problem=
    [ "$1" = "$2" ] || problem="$3 is '$2', not '$1'"
    verdict "$problem"
}

# A daemon on ./$1 until daemon_stop; CAIRN_SOCKET says where.
daemon_start() {
    [ -p up ] || mkfifo up
    # shellcheck disable=SC2016 # for the inner shell
    "$CAIRN" exec --data "$1" -- sh -c 'echo "$CAIRN_SOCKET" >socket; exec "$PROBE" until-term 0 up' \
        2>daemon.err &
    exec_pid=$!
    if ! read -r -t 90 _ <>up; then
        cat daemon.err
        echo "no daemon, no test"
        exit 1
    fi
    CAIRN_SOCKET=$(cat socket)
    export CAIRN_SOCKET
}

daemon_stop() {
    kill -TERM "$exec_pid"
    wait "$exec_pid"
    same 0 $? "the exit code of cairn exec"
    unset CAIRN_SOCKET
}

finish() {
    local log
    for log in "$work"/*/cairnd.log; do
        if grep -qE "Sanitizer|runtime error:" "$log"; then
            cp "$log" "$work/err"
            verdict "a sanitizer stopped a daemon: $log"
        fi
    done
    echo "$checked checks, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}
