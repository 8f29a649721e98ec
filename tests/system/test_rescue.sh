#!/usr/bin/env bash
# A bad step spoils a run. The last finite boundary is there however many saves follow; the run goes
# on from it, also when it is killed at once, and ends as one that nobody disturbed, bit for bit.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/expect.sh
. "$here/../support/expect.sh"
: "${DIGITS:?}"

train=("$DIGITS" --data "$here/../data/digits.csv.gz" --save-every 16)

digest() {
    sed -n 's/^digest //p' "$work/out"
}

expect 0 "${train[@]}" --updates 60 --no-save
undisturbed=$(digest)
daemon_start data
expect 1 "${train[@]}" --updates 60 --from finite
has err "has no run 'digits'"
expect 0 "${train[@]}" --updates 10
expect 0 "$CAIRN" keep digits --last 2

# ---- update 21 begins with a NaN
expect 0 "${train[@]}" --updates 60 --spoil-after 20
[ "$(digest)" != "$undisturbed" ]
same 0 $? "whether a NaN changes the end"
expect 0 "$CAIRN" log digits
has out ", not finite"
expect 0 "$CAIRN" keep digits --last 2 --now
expect 0 "$CAIRN" log digits --json
json 3 boundaries
json false boundaries 0 finite
json false boundaries 1 finite
json true boundaries 2 finite
last_finite=$("$PROBE" json boundaries 2 seq <out)
expect 0 "$CAIRN" show digits@finite --json
json "$last_finite" boundary seq

# ---- it goes on from the last finite one, and is killed before it has saved anything
mkfifo said
"${train[@]}" --updates 1000000 --save-every 1000000 --from finite >said 2>err &
trainer=$!
exec 3<said
line=
until [[ $line == resumed* ]]; do
    IFS= read -r -t 60 line <&3 || break
done
kill -KILL $trainer
wait $trainer 2>/dev/null
exec 3<&-
[[ $line == "resumed after microbatch "* ]]
same 0 $? "whether it has resumed"
expect 0 "$CAIRN" show digits@latest --json
json "$last_finite" boundary seq

# ---- the next start asks for nothing, and gets the line that was chosen
expect 0 "${train[@]}" --updates 60
has out "resumed after microbatch"
same "$undisturbed" "$(digest)" "the digest of the run that was rescued"
expect 0 "$CAIRN" verify digits
daemon_stop
finish
