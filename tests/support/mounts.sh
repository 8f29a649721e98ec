#!/bin/sh
# mounts.sh up DIR | down DIR: the file systems that the store is tested on.
#   DIR/ext4  1 GiB loop image      DIR/xfs    400 MiB loop image
#   DIR/tmpfs 2 GiB                 DIR/small  160 MiB ext4, to be filled up
# Uses sudo -n unless run by root. Both may be repeated; `down` leaves nothing.
set -eu

usage() {
    echo "usage: mounts.sh up|down DIR" >&2
    exit 2
}

[ $# -eq 2 ] || usage
PATH=$PATH:/usr/sbin:/sbin
as_root() { "$@"; }
[ "$(id -u)" -eq 0 ] || as_root() { sudo -n "$@"; }

mounted() { mountpoint -q "$1"; }

# image NAME MIB MKFS...: a loop-mounted file system with nothing in reserve.
image() {
    name=$1 mib=$2
    shift 2
    mounted "$dir/$name" && return 0
    rm -f "$dir/$name.img"
    truncate -s "${mib}M" "$dir/$name.img"
    "$@" "$dir/$name.img" >/dev/null
    mkdir -p "$dir/$name"
    as_root mount -o loop "$dir/$name.img" "$dir/$name"
    as_root chown "$(id -u):$(id -g)" "$dir/$name"
}

up() {
    mkdir -p "$dir"
    image ext4 1024 mkfs.ext4 -q -F -m 0
    image small 160 mkfs.ext4 -q -F -m 0
    image xfs 400 mkfs.xfs -q -f
    mkdir -p "$dir/tmpfs"
    mounted "$dir/tmpfs" || as_root mount -t tmpfs -o size=2G,mode=0700 tmpfs "$dir/tmpfs"
    as_root chown "$(id -u):$(id -g)" "$dir/tmpfs"
}

down() {
    for name in ext4 small xfs tmpfs; do
        if mounted "$dir/$name"; then
            as_root umount "$dir/$name"
        fi
        rm -f "$dir/$name.img"
        if [ -d "$dir/$name" ]; then
            rmdir "$dir/$name"
        fi
    done
    if [ -d "$dir" ]; then
        rmdir "$dir"
    fi
}

case $1 in
up) mkdir -p "$2" && dir=$(cd "$2" && pwd) && up ;;
down) [ -d "$2" ] || exit 0; dir=$(cd "$2" && pwd) && down ;;
*) usage ;;
esac
