#!/usr/bin/env bash
# units.sh DEPLOY CAIRND: the units in DEPLOY, with ExecStart= turned to the daemon of this build, are
# what systemd accepts, and are closed up as they say.
set -euo pipefail

deploy=$1 cairnd=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
sed "s|^ExecStart=.*/cairnd|ExecStart=$cairnd|" "$deploy/cairnd.service.in" >"$copy/cairnd.service"
cp "$deploy/cairnd.socket" "$copy"
grep -q "^ExecStart=$cairnd" "$copy/cairnd.service" || { echo "units: no ExecStart to turn" && exit 1; }

# verify prints what it does not understand, and does not always fail for it.
systemd-analyze verify "$copy/cairnd.service" "$copy/cairnd.socket" 2>&1 | tee "$copy/said"
[ ! -s "$copy/said" ] || exit 1

# An exposure of 10 is a bare service, 0 one that can do nothing. --threshold takes tenths.
systemd-analyze security --offline=true --threshold=15 "$copy/cairnd.service" >"$copy/exposure" || {
    cat "$copy/exposure"
    exit 1
}
tail -n 1 "$copy/exposure"

# What must hold whatever else is changed: one name in both, uids as they are, a daemon that reports.
for line in Type=notify Requires=cairnd.socket StateDirectory=cairn SocketMode=0660 \
    ListenStream=/run/cairn/cairnd.sock; do
    grep -qx "$line" "$copy"/cairnd.* || { echo "units: no $line" && exit 1; }
done
if grep -qE '^PrivateUsers=(yes|true|1|on)' "$copy/cairnd.service"; then
    echo "units: PrivateUsers makes every peer nobody"
    exit 1
fi
