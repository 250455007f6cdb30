#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What Nsight Compute counts of the kernels of an input, one launch of each: instructions, requests, sectors,
# wavefronts, hits of caches, stalls. Beside them `quadrille report --profile` shows what the counts of
# accesses predict, and what documents have. Needs a GPU whose counters this user may read.
# Exit 77: there is no ncu.
#
#   jobs/profile.sh RUN-ARGUMENTS...
#   jobs/profile.sh inputs/sgemm-worklog.toml --only ladder
#   jobs/profile.sh --case gemm --set type=f32 --set size=4Ki --set variant=transposed_a
#
# Or the main loop of kernels as the GPU executes it, with its instructions by class. Exit 77: no cuobjdump.
#
#   jobs/profile.sh --sass KERNEL [FILE]
#   jobs/profile.sh --sass gemm_vectorized     of the program, or of an object or cubin
#
#   QUADRILLE=build/quadrille   the program
#   OUT=profile                 folder of profile.csv and of the result of the run
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${QUADRILLE:-$home/build/quadrille}
[ $# -ge 1 ] || { echo "usage: jobs/profile.sh RUN-ARGUMENTS... | --sass KERNEL [FILE]" >&2 && exit 2; }

if [ "$1" = --sass ]; then
  [ $# -ge 2 ] || { echo "profile: --sass takes the beginning of a kernel's name: gemm_naive" >&2 && exit 2; }
  command -v cuobjdump >/dev/null || { echo "profile: no cuobjdump; load CUDA" >&2 && exit 77; }
  filter=$(command -v c++filt || command -v cat)
  cuobjdump -sass "${3:-$program}" | awk -v wanted="$2" -f "$home/jobs/main_loop.awk" | "$filter"
  exit
fi

command -v ncu >/dev/null || { echo "profile: no ncu; load Nsight Compute" >&2 && exit 77; }
out=${OUT:-profile}
mkdir -p "$out"
run=run-$(date +%Y%m%d-%H%M%S)
counters=$("$program" list counters --json | sed -n 's/.*"name": "\(.*\)".*/\1/p' | paste -sd ,)
# The kernels of operations, each the second time: the first launch is that of the check, with cold caches.
# Template instances count apart.
ncu --force-overwrite --export "$out/profile" --clock-control none --kernel-name-base demangled \
  --kernel-id '::regex:[^a-z_](gemm|vector|transpose|reduction|integral|conv2d|attention|memory)_[a-z0-9_]*_kernel:2' \
  --section WarpStateStats --metrics "$counters" \
  "$program" run "$@" --set run.device=cuda --set run.vendor=off --set run.repetitions=2 \
  --set run.output="$out" --run-id "$run"
ncu --import "$out/profile.ncu-rep" --csv --page raw --print-units base >"$out/profile.csv"
"$program" report --profile "$out/profile.csv" "$out/$run"
