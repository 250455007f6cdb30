#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds and runs on this machine; ends with the run's exit code, and without a RESULT line never with
# 0 or 1: 1 is a wrong result of the program, and of mpirun whatever else went wrong. Exit 3: could not build.
#
#   jobs/workstation.sh [INPUT [run options]]     default: inputs/quickstart.toml
#
#   RANKS=2                      MPI ranks
#   QUADRILLE_HOST_ARCH=native   -march of the host kernels
#   QUADRILLE_CUDA_ARCHITECTURES=90a   GPUs to compile kernels for, such as "80;90a;100"
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
input=${1:-$home/inputs/quickstart.toml}
[ $# -eq 0 ] || shift
[ -r "$input" ] || { echo "workstation: cannot read $input" >&2 && exit 2; }
ranks=${RANKS:-2}

# Runs one stage without its output, unless it fails, and says how long it took.
stage() {
  local name=$1 begin=$SECONDS log status=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    tail -n 40 "$log" >&2
    echo "workstation: $name failed" >&2
    exit 3
  fi
  rm -f "$log"
  echo "workstation: $name, $((SECONDS - begin)) s"
}

stage "set-up" bash "$home/jobs/setup.sh"
stage "configure" cmake --preset release -S "$home" \
  -DQUADRILLE_HOST_ARCH="${QUADRILLE_HOST_ARCH:-native}" \
  -DQUADRILLE_CUDA_ARCHITECTURES="${QUADRILLE_CUDA_ARCHITECTURES:-90a}"
stage "build" cmake --build "$home/build" --target quadrille

launcher=(mpirun -n "$ranks")
if mpirun --version 2>/dev/null | grep -q "Open MPI"; then
  # More ranks than cores are welcome here, and so is root: containers have nobody else.
  launcher+=(--oversubscribe --bind-to none)
  [ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
begin=$SECONDS status=0 log=$(mktemp)
[ ! -t 1 ] || export COLUMNS="${COLUMNS:-$(tput cols)}"  # of the terminal behind tee
"${launcher[@]}" "$home/build/quadrille" run "$input" "$@" | tee "$log" || status=$?
if [ "$status" -le 1 ] && ! grep -q "^RESULT " "$log"; then
  echo "workstation: no RESULT line: it was mpirun that ended with $status" >&2
  status=4
fi
rm -f "$log"
echo "workstation: run on $ranks ranks, $((SECONDS - begin)) s, exit code $status" >&2
exit "$status"
