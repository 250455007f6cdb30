#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Packs the program, unpacks it into a root with nothing but a C library and a shell, and runs it
# there on two ranks. Exit 77 (skipped) without root or name spaces.
#
#   tests/jobs/bundle_test.sh [BINARY]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
binary=${1:-build/quadrille}

[ "$(id -u)" = 0 ] || { echo "skipped: chroot needs root" && exit 77; }
unshare --mount true 2>/dev/null || { echo "skipped: no mount name spaces" && exit 77; }
command -v ompi_info >/dev/null || { echo "skipped: only Open MPI is bundled" && exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch"/log >&2 2>/dev/null || true
  exit 1
}

jobs/bundle.sh "$binary" "$scratch/bundle.tar.gz" | tee "$scratch/log"
arch=$(sed -n 's/^QUADRILLE_HOST_ARCH:.*=//p' "$(dirname "$binary")/CMakeCache.txt")
[ "$(grep -c "it starts on CPUs" "$scratch/log")" = "$([ "$arch" = native ] && echo 1 || echo 0)" ] ||
  fail "with QUADRILLE_HOST_ARCH=$arch bundle.sh does not say where the bundle starts, or says it in vain"
root=$scratch/root
mkdir -p "$root"/{usr/bin,tmp,dev,proc,sys,opt,etc}
ln -s usr/bin "$root/bin"
tools=()
for tool in bash env dirname id; do tools+=("$(readlink -f "$(command -v "$tool")")"); done
cp "${tools[@]}" "$root/usr/bin/"
ln -s bash "$root/usr/bin/sh"
echo "root:x:0:0::/:/bin/sh" >"$root/etc/passwd"
# The C library at the places that programs of this architecture name, and what the shell links to.
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
library=$(dirname "$(ldd "$(command -v bash)" | awk '/libc\.so/ {print $3}')")
mkdir -p "$root/lib64" "$root$library"
cp "$loader" "$root/lib64/ld-linux-x86-64.so.2"
for name in c m dl pthread rt resolv util; do cp -L "$library/lib$name".so.? "$root$library/"; done
for tool in "${tools[@]}"; do ldd "$tool"; done | awk '/=> \// {print $3}' | sort -u |
  while read -r needed; do cp -nL "$needed" "$root$library/"; done
tar -C "$root/opt" -xf "$scratch/bundle.tar.gz"

# inside COMMAND...: in a mount name space of its own, where /dev, /proc and /sys are those here.
inside() {
  # shellcheck disable=SC2016  # the inner shell expands these
  unshare --mount bash -c 'for d in dev proc sys; do mount --rbind "/$d" "$0/$d"; done
    exec env -i PATH=/usr/bin:/usr/sbin HOME=/tmp TMPDIR=/tmp chroot "$0" "$@"' "$root" "$@" >"$scratch/log" 2>&1
}

inside /opt/quadrille/run.sh -n 0 --version || fail "the program does not start"
inside /opt/quadrille/run.sh -n 2 doctor || fail "doctor on two ranks"
grep -q "2 ranks, 1 node," "$scratch/log" || fail "doctor did not see two ranks"
inside /opt/quadrille/run.sh -n 2 run --case summa --set size=256 --set repetitions=2 \
  --set run.device=host --set run.output=/tmp/results || fail "a product on two ranks"
grep -q "^RESULT PASS" "$scratch/log" || fail "no RESULT PASS"
inside /opt/quadrille/run.sh -n 3 run /opt/quadrille/inputs/quickstart.toml --dry-run \
  --set run.device=host || fail "the inputs are not found"
echo "a bundle of $(du -h "$scratch/bundle.tar.gz" | cut -f1) runs in an empty root"
