#!/usr/bin/env bash
# What looks after the boundaries of a run: keep, rollback, rm; with and without --json, asked and not.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
. "$here/../support/expect.sh"

# The seqs of a run, newest first. KEEP has its turn behind what a commit left to do.
seqs() {
    "$CAIRN" keep --dry-run -q "$1" >/dev/null
    "$CAIRN" log -q "$1" 2>/dev/null | awk '{ printf "%s%s", sep, $1; sep = " " }'
}

daemon_start data
expect 3 "$CAIRN" keep demo
expect 3 "$CAIRN" du demo
expect 0 "$CAIRN" du --json
same '{"runs":[]}' "$(tr -d ' \n' <out)" "no run"
for step in 10 20 30 40 50 60; do
    expect 0 "$SMALL_TRAINER" demo save $step loss=0.$step
done

# ---- keep
expect 0 "$CAIRN" keep demo
has out "none  (the daemon's default)"
expect 0 "$CAIRN" keep demo --json
json none policy
json true default
expect 0 "$CAIRN" keep demo --last 3 --best loss:min --every 20 --dry-run
has out "SEQ STEP AGE"
has out "stays best=loss:min:1"
has out "goes  no rule keeps it"
has out "last=3 every=20 best=loss:min:1: 1 of them would go"
same '6 5 4 3 2 1' "$(seqs demo)" "after a dry run"
expect 0 "$CAIRN" keep demo --last 3 --dry-run --json
json 'last=3' policy
json 3 goes_count
json 6 boundaries 0 seq
json newest boundaries 0 why
json false boundaries 2 goes
json last boundaries 2 why
json true boundaries 3 goes
json 30 boundaries 3 step
expect 0 "$CAIRN" keep demo --last 3
same 'last=3' "$(cat out)" "the policy that was set"
expect 0 "$SMALL_TRAINER" demo save 70
same '7 6 5' "$(seqs demo)" "after a commit"
expect 0 "$CAIRN" keep demo --last 2 --now --json
json 1 removed
json 0 damaged
expect 0 "$CAIRN" keep demo --last 2 --now
has out "last=2: 0 removed"
expect 4 "$CAIRN" keep demo --last x
has err '"last=x": expected'
expect 4 "$CAIRN" keep demo --none --last 3
expect 4 "$CAIRN" keep demo --newer 7 --json
json CAIRN_EINVAL error code
expect 0 "$CAIRN" keep demo --none
expect 0 "$CAIRN" keep demo
same none "$(cat out)" "a policy of its own that keeps everything"
expect 0 "$CAIRN" keep demo --default --json
json true default

# ---- du: what the file system says of the run's files
blocks() {
    find "data/runs/$(id -u)/demo/$1" -type f -name "$2" -printf '%b\n' | awk '{ sum += $1 } END { print sum * 512 }'
}
expect 0 "$SMALL_TRAINER" other save 1
expect 0 "$CAIRN" du
has out "RUN   BOUNDARIES PAYLOAD"
has out "demo           2"
has out "other          1"
expect 0 "$CAIRN" du --json
json demo runs 0 run
json 2 runs 0 boundary_count
json "$(blocks segments '*.seg')" runs 0 segment_bytes
json "$(blocks segments '*.tmp')" runs 0 unnamed_bytes
json "$(blocks index data.mdb)" runs 0 index_bytes
json other runs 1 run
expect 0 "$CAIRN" du demo
has out "SEQ STEP AGE"
has out "2 boundaries, "
expect 0 "$CAIRN" du demo --json
json demo runs 0 run
json 7 runs 0 boundaries 0 seq
json 60 runs 0 boundaries 1 step
expect 4 "$CAIRN" du demo other
expect 0 "$CAIRN" rm --run -y other

# ---- rollback
expect 0 "$CAIRN" rollback demo@seq:6
has out "demo goes on from seq 6, step 60"
expect 0 "$SMALL_TRAINER" demo check 60
expect 0 "$CAIRN" rollback demo@seq:7 --json
json 7 seq
expect 0 "$SMALL_TRAINER" demo check 70
expect 0 "$CAIRN" rollback demo@60 -q
same '' "$(cat out)" "a quiet rollback"
expect 3 "$CAIRN" rollback demo@70
has err "abandoned"
expect 3 "$CAIRN" rollback demo@seq:77
expect 0 "$SMALL_TRAINER" demo save 65
expect 0 "$CAIRN" log demo@latest~1 --json
json 6 boundaries 0 seq

# ---- pins and labels
expect 0 "$CAIRN" pin demo@seq:6 --name paper --why "figure 3"
has out "demo@seq:6: seq 6, step 60 is pinned as 'paper'"
expect 0 "$CAIRN" pin demo@seq:6 --name "b_2.x-" --json
json 2 pins
expect 0 "$CAIRN" pins demo
has out "paper"
has out "figure 3"
expect 0 "$CAIRN" pins demo --json
json 2 pins
json b_2.x- pins 0 name
json "figure 3" pins 1 why
json 6 pins 1 seq
json "$(id -u)" pins 1 uid
expect 0 "$CAIRN" log demo
has out ", pinned"
expect 5 "$CAIRN" rm --yes demo@seq:6
has err "pinned as 'b_2.x-': unpin it first"
expect 0 "$CAIRN" pin demo@seq:7 --name x
expect 0 "$CAIRN" keep demo --last 1 --dry-run
has out "stays pinned"
expect 0 "$CAIRN" unpin demo@seq:7 --name x
expect 0 "$CAIRN" unpin demo@seq:6 --name paper
expect 3 "$CAIRN" unpin demo@seq:6 --name paper
has err "not pinned as 'paper'"
expect 0 "$CAIRN" unpin demo@seq:6 --name b_2.x- --json
json 0 pins
expect 4 "$CAIRN" pin demo@seq:6
expect 4 "$CAIRN" pin demo@seq:6 --name "a b"
expect 3 "$CAIRN" pin demo@seq:99 --name x
expect 0 "$CAIRN" label demo@seq:6 loss=0.001 "note=late evaluation" --json
json 6 seq
expect 0 "$CAIRN" log demo@best:loss:min --json
json 6 boundaries 0 seq
json 0.001 boundaries 0 labels loss
json "late evaluation" boundaries 0 labels note
expect 0 "$CAIRN" show demo@seq:6
has out "late evaluation"
expect 0 "$CAIRN" label demo@seq:6 loss=nan
expect 4 "$CAIRN" label demo@seq:6
expect 4 "$CAIRN" label demo@seq:6 novalue
expect 4 "$CAIRN" label demo@seq:6 "bad name=1"
expect 3 "$CAIRN" label demo@seq:99 a=1

# ---- rm
expect 4 "$CAIRN" rm demo@seq:7
has err "--yes"
expect 4 "$CAIRN" rm --yes
expect 4 "$CAIRN" rm --yes demo
has err "--run RUN"
expect 4 "$CAIRN" rm --yes demo@latest
has err "newest"
expect 0 "$CAIRN" rm --yes demo@seq:7
has out "demo@seq:7: seq 7, step 70 removed"
expect 3 "$CAIRN" rm -y demo@seq:7
expect 3 "$CAIRN" rm -y demo@seq:99 demo@seq:6
has out "demo@seq:6: seq 6"
same 8 "$(seqs demo)" "what is left"
expect 0 "$SMALL_TRAINER" demo series 2
expect 0 "$CAIRN" rm -y --json demo@1
json demo@1 removed
json 1 boundary step
# On a terminal it asks; what is neither y nor yes is no.
for answer in n '' yes; do
    echo "$answer" >answer
    expect 0 script -qec "'$CAIRN' rm demo@seq:8" typescript <answer
    has out "Remove seq 8 of demo (step 65, saved"
done
same 10 "$(seqs demo)" "after yes"
expect 4 "$CAIRN" rm --run -y demo@seq:10
expect 0 "$CAIRN" rm --run -y demo
expect 3 "$CAIRN" log demo
expect 3 "$CAIRN" rm --run -y demo
daemon_stop
finish
