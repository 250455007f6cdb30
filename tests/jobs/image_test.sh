#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# A container recipe on a bare Debian 12, which takes the place of its base: the build steps install what they need
# and build the program, and the default command passes where there is no compiler to build anything. It takes
# minutes. Exit 77 (skipped) where root, debootstrap, name spaces or a Debian mirror are missing.
#
#   tests/jobs/image_test.sh Dockerfile|quadrille.def
#
#   SCRATCH   where the root is made (default: a temporary directory, removed); a Debian in it is used again
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/jobs/recipe.sh
. "$here/tests/jobs/recipe.sh"
recipe=$here/jobs/containers/$1

PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || { echo "skipped: only root may change the root" && exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: no debootstrap" && exit 77; }
unshare --mount true 2>/dev/null || { echo "skipped: no name spaces for mounts" && exit 77; }
mirror=$(grep -rhE '^(URIs:|deb )' /etc/apt/sources.list* 2>/dev/null | grep -oE 'https?://[^ ]*/debian/?' | head -n 1 || true)
[ -n "$mirror" ] || { echo "skipped: apt knows no Debian mirror" && exit 77; }

scratch=${SCRATCH:-$(mktemp -d)}
[ -n "${SCRATCH:-}" ] || trap 'rm -rf --one-file-system "$scratch"' EXIT
mkdir -p "$scratch"
root=$scratch/root
fail() {
  echo "FAILED: $1" >&2
  tail -n 40 "$scratch/log" >&2
  exit 1
}

if [ ! -e "$scratch/bare" ]; then
  debootstrap --variant=minbase bookworm "$scratch/unfinished" "$mirror" >"$scratch/log" 2>&1 || fail "debootstrap"
  mv "$scratch/unfinished" "$scratch/bare"
fi
rm -rf --one-file-system "$root"
cp -a "$scratch/bare" "$root"
# The way to the network of this machine.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
network=()
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/certificates.crt"
  network+=(PIP_CERT=/etc/certificates.crt)
fi
while IFS= read -r variable; do network+=("$variable"); done < <(env | grep -iE '^(https?_proxy|no_proxy|PIP_INDEX_URL|PIP_DEFAULT_TIMEOUT)=' || true)

# As Docker copies it.
mkdir -p "$root/opt/quadrille"
sed 's#^#./#' "$here/.dockerignore" >"$scratch/ignored"
tar -C "$here" --anchored --exclude-from="$scratch/ignored" -c . | tar -C "$root/opt/quadrille" --no-same-owner -x

# in_image [OPTION of chroot]... < COMMANDS: runs them, with nothing of this environment but the network.
in_image() {
  { echo "set -eu" && cat; } >"$root/commands"
  # shellcheck disable=SC2016  # the inner shell expands
  unshare --mount bash -c 'mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" && mount --rbind /dev "$0/dev" &&
    exec chroot "${@:2}" "$0" /usr/bin/env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin $1 /bin/bash /commands' \
    "$root" "${network[*]}" "$@" >"$scratch/log" 2>&1
}
{ recipe_environment "$recipe" && echo "cd /opt/quadrille" && recipe_build "$recipe"; } | in_image || fail "the build steps"

# Nothing is left that could build.
rm -f "$root"/usr/bin/{cmake,ninja,make,cc,c++,gcc,g++}
begin=(echo "cd /opt/quadrille")
[ "$1" = Dockerfile ] || begin=(echo "cd /tmp")  # Apptainer starts as whoever calls, where that is
user=()
[ "$1" = Dockerfile ] || user=(--userspec=nobody:nogroup)
{ recipe_environment "$recipe" && "${begin[@]}" && recipe_default "$recipe"; } | in_image "${user[@]}" ||
  fail "the default command"
grep -q "^RESULT PASS" "$scratch/log" || fail "the default command does not pass"
tail -n 1 "$scratch/log"
