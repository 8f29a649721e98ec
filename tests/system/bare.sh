#!/usr/bin/env bash
# tests/system/bare.sh [--user] [--root DIR] [--mirror URL] [COMMAND...]
#
# Tries the two commands of the README where nothing is installed: in a bare Debian 12 tree that
# debootstrap makes (kept in DIR and used again when it is there), with a copy of this source tree,
# as root or (--user) as a user with sudo. COMMAND runs in the copy; default: deploy/quickstart.sh.
# Needs root, debootstrap, and a mirror: the one given, else the first of this machine's own.
# Takes a while, so it is run by hand and is no part of check.sh.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=/var/tmp/cairn-bare
mirror=
who=root
while [ $# -gt 0 ]; do
    case $1 in
    --user) who=builder ;;
    --root) root=$2 && shift ;;
    --mirror) mirror=$2 && shift ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- deploy/quickstart.sh

if [ ! -x "$root/usr/bin/apt-get" ]; then
    if [ -z "$mirror" ]; then
        # shellcheck disable=SC2016 # $(SITE) is apt's word, not the shell's
        mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' | head -n 1)
    fi
    debootstrap --variant=minbase bookworm "$root" "$mirror"
fi

# Another mount and process space: whatever the command mounts or leaves running ends with it.
export root source_dir who
exec unshare --mount --pid --fork --kill-child bash -euo pipefail -s -- "$@" <<'INSIDE'
mount --rbind /dev "$root/dev"
mount -t sysfs none "$root/sys"
mount -t proc none "$root/proc"
mount -t tmpfs none "$root/run"
# A disk below /var/tmp, memory below /tmp, as on many machines.
mount -t tmpfs none "$root/tmp"

tree=$root/home/cairn
rm -rf "$tree"
mkdir -p "$tree"
git -C "$source_dir" ls-files -z --cached --others --exclude-standard |
    tar -C "$source_dir" --null --ignore-failed-read -T - -c | tar -C "$tree" -x

enter=(chroot "$root" env -i HOME=/home/cairn LANG=C.UTF-8 TERM=dumb
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
if [ "$who" != root ]; then
    "${enter[@]}" bash -euc "
        command -v sudo >/dev/null || { apt-get -q update && apt-get -q -y install sudo; } >/dev/null
        id $who >/dev/null 2>&1 || useradd $who
        echo '$who ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$who
        chown -R $who: /home/cairn"
    enter+=(setpriv --reuid="$who" --regid="$who" --init-groups --)
fi
"${enter[@]}" bash -c 'cd /home/cairn && exec "$@"' bash "$@" </dev/null
INSIDE
