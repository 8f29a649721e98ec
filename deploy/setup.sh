#!/usr/bin/env bash
# deploy/setup.sh LIST...: install the Debian packages that deploy/packages/LIST.txt names and that
# are missing. As root, or as a user who may use sudo. With nothing missing it touches nothing, so
# a machine without a network can run it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for list in "$@"; do
    while read -r name; do
        is_installed "$name" || missing+=("$name")
    done < <(grep -v '^ *#' "$here/packages/$list.txt")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

echo "setup: installing ${missing[*]}"
# One unreachable source of many must not stop an install that does not need it: apt-get install
# is the judge.
apt_get update >/dev/null || echo "setup: some package sources could not be read" >&2
apt_get install --no-install-recommends "${missing[@]}" >/dev/null
