#!/usr/bin/env bash
# Installs the browser that `make test-browser` drives, by apt, about 100 MB. Does nothing where there is one.
set -euo pipefail

if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then exit; fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "browser.sh: run as root, or install sudo: cannot install chromium" >&2
    exit 1
fi
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
echo "browser.sh: installing chromium"
as_root apt-get update -q
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core
