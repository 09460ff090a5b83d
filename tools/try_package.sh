#!/usr/bin/env bash
# tools/try_package.sh [SUITE [MIRROR]] - tries the packages of `./dev package` on a bare system, made by debootstrap and removed
# afterwards: they install with what they depend on, run, can be built against, and leave nothing when they are removed.
#
# As root, with debootstrap installed. SUITE: bookworm unless given. Takes minutes, and the network.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=${1:-bookworm}
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

say() { printf 'try_package: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

((EUID == 0)) || die "debootstrap and chroot need root"
command -v debootstrap >/dev/null || die "debootstrap is not here"
packages=("$root"/build/runnel_*.deb "$root"/build/librunnel-dev_*.deb)
[[ ${#packages[@]} == 2 && -f ${packages[0]} && -f ${packages[1]} ]] || die "build/ does not have the two packages: ./dev package"

system=$(mktemp -d /tmp/runnel-system.XXXXXX)
trap 'rm -rf "$system"' EXIT
inside() { chroot "$system" "$@"; }
install_inside() {
    inside apt-get install -q -y --no-install-recommends "$@" >"$system/tmp/apt.log" 2>&1 ||
        die "cannot install $*: $(tail -n 5 "$system/tmp/apt.log")"
}
files_inside() { # without those that come with any use of apt
    inside find / -xdev \( -path /tmp -o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log \) -prune -o -print | sort
}
stream() { # stream COMMAND...: it must end well and say something
    local text
    text=$(inside "$@") || die "$*: failed"
    [[ $text ]] || die "$*: no text"
    say "$1: $text"
}

say "making a bare $suite"
debootstrap --variant=minbase "$suite" "$system" ${2:+"$2"} >"$system.log" 2>&1 || die "debootstrap failed: $system.log"
rm "$system.log"
cp /etc/apt/apt.conf.d/*proxy* "$system/etc/apt/apt.conf.d/" 2>/dev/null || true
cp "${packages[@]}" "$root/docs/examples/stream.c" "$system/tmp/"
inside apt-get update -q >/dev/null 2>&1 || die "apt-get update failed"
install_inside man-db gcc libc6-dev pkg-config libedit2 libgnutls30 libnettle8 libwslay1 libmd4c0 libjansson4 libutf8proc2 libpcre2-dev libutf8proc-dev libjansson-dev
files_inside >"$system/tmp/before"

install_inside "/tmp/$(basename "${packages[0]}")"
stream runnel run "Once upon a time" -n 20
[[ $(inside man -w runnel) == /usr/share/man/man1/runnel.1.gz ]] || die "man does not find runnel(1)"

install_inside "/tmp/$(basename "${packages[1]}")"
inside sh -e <<'BUILD' || die "a C program does not link with the library"
cd /tmp
cc stream.c -o shared $(pkg-config --cflags --libs runnel)
cc -static stream.c -o static $(pkg-config --static --cflags --libs runnel)
BUILD
for program in /tmp/shared /tmp/static; do
    stream "$program" /usr/share/runnel/models/stories.gguf "Once upon a time" 20
done

inside apt-get purge -q -y runnel librunnel-dev >/dev/null 2>&1 || die "cannot be removed"
left=$(files_inside | comm -13 "$system/tmp/before" -)
[[ -z $left ]] || die "removed, and left behind: $left"
say "installed, ran, was built against, and left nothing: ${packages[*]##*/}"
