#!/usr/bin/env bash
# tools/aarch64_libraries.sh - unpacks what the program needs (cmake/needs.cmake), as built for 64-bit Arm, into build/aarch64-libraries.
#
# Nothing is installed: apt works on lists and a cache of its own under build/. For a Debian whose mirrors have arm64.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
to=$root/build/aarch64-libraries
packages=(libpcre2-8-0 libpcre2-dev libutf8proc2 libutf8proc-dev libjansson4 libjansson-dev libedit2 libedit-dev
    libbsd0 libmd0 libtinfo6 # what libedit needs
    libwslay1 libwslay-dev
    libgnutls30 libgnutls28-dev libgmp10 libhogweed6 libidn2-0 libidn2-dev libnettle8 nettle-dev libp11-kit0 libp11-kit-dev # what
    libtasn1-6 libtasn1-6-dev libunistring2 libffi8)                                                                        # GnuTLS needs

[[ -e $to/unpacked && $(<"$to/unpacked") == "${packages[*]}" ]] && exit 0
work=$root/build/aarch64-apt
rm -rf "$to" "$work"
mkdir -p "$to" "$work"/{lists/partial,cache/archives/partial,debs}
touch "$work/status"
apt=(apt-get -q -o Acquire::Retries=3 -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o "Dir::State::status=$work/status")
log=$work/log
if ! { "${apt[@]}" update && cd "$work/debs" && "${apt[@]}" download "${packages[@]}"; } >"$log" 2>&1; then
    echo "aarch64_libraries: cannot fetch ${packages[*]} for arm64: $(grep '^E: ' "$log" | tail -n 1) (all of it: $log)" >&2
    exit 1
fi
for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$to"; done
rm -rf "$work"
echo "${packages[*]}" >"$to/unpacked"
