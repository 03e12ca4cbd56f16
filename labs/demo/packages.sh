#!/usr/bin/env bash
# Installs what kab needs on this host, by apt, and says what it does. Debian 12 and 13, Ubuntu 24.04.
# Does nothing (and needs no root) when everything is there.
set -euo pipefail

packages=(git make gcc libc6-dev bc bison flex libelf-dev libssl-dev xz-utils kmod
    busybox-static dropbear-bin fio qemu-system-x86 git-email fastboot mkbootimg
    gcc-aarch64-linux-gnu device-tree-compiler)

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'; }

# Kernel source packages that the demo's patch applies to, the best first: Debian 12 and 13, Ubuntu 24.04.
sources=(linux-source-6.12 linux-source-6.8.0)

source_package_installed() {
    local name
    for name in "${sources[@]}"; do if installed "$name"; then return; fi; done
    return 1
}

source_package() {
    local name
    for name in "${sources[@]}"; do
        if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else echo "packages.sh: run as root, or install sudo: cannot run: $*" >&2; exit 1; fi
}

# `-device ufs` came with QEMU 8.2, its MCQ switch with 9.0; Debian 12 has 7.2 and offers 10.0 in backports.
qemu_is_new_enough() {
    local version
    version=$(qemu-system-x86_64 --version 2>/dev/null | sed -n '1s/.*version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ -n "$version" ] || return 1
    # shellcheck disable=SC2086
    set -- $version
    [ "$1" -gt 8 ] || { [ "$1" -eq 8 ] && [ "$2" -ge 2 ]; }
}

needs_backports() {
    . /etc/os-release
    [ "${ID:-}" = debian ] && [ "${VERSION_CODENAME:-}" = bookworm ]
}

# The archive that this host already uses, with the backports suite.
add_backports() {
    local uri list=/etc/apt/sources.list.d/kab-backports.list
    if apt-cache policy | grep -q 'n=bookworm-backports'; then return; fi
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
    [ -n "$uri" ] || { echo "packages.sh: cannot tell which archive this host uses; add bookworm-backports by hand" >&2; exit 1; }
    echo "packages.sh: adding bookworm-backports in $list (for QEMU 10)"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri bookworm-backports main" |
        as_root tee "$list" >/dev/null
    as_root apt-get update -q
}

install_qemu_backport() {
    add_backports
    echo "packages.sh: installing QEMU from backports"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -t bookworm-backports qemu-system-x86 qemu-system-common qemu-system-data
}

main() {
    local missing=() package source
    for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
    if ! source_package_installed; then missing+=(linux-source); fi
    if [ ${#missing[@]} -gt 0 ]; then
        echo "packages.sh: missing: ${missing[*]}"
        as_root apt-get update -q
        source=$(source_package) || { echo "packages.sh: this release offers neither linux-source-6.12 nor 6.8" >&2; exit 1; }
        missing=("${missing[@]/#linux-source/$source}")
        if needs_backports && ! installed qemu-system-x86; then
            install_qemu_backport
            mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vx qemu-system-x86)
        fi
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
    fi
    if [ -e /dev/kvm ] && [ ! -w /dev/kvm ]; then
        echo "packages.sh: /dev/kvm is there and this user may not use it: boards will be emulated, which is slow." \
            "Join its group: sudo usermod -aG kvm $USER, then log in again"
    fi
    if ! qemu_is_new_enough; then
        if needs_backports; then install_qemu_backport
        else echo "packages.sh: QEMU is too old: a UFS disk needs 8.2 or later" >&2; exit 1; fi
    fi
}

main
