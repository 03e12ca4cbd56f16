#!/usr/bin/env bash
# Installs clang, lld and the LLVM tools for `LLVM=1`, which are too large for every test run.
set -euo pipefail

missing=()
for pair in clang:clang ld.lld:lld llvm-objcopy:llvm; do
    command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}")
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "llvm.sh: missing: ${missing[*]}"
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
as_root apt-get update -q
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
