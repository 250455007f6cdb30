#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What Nsight Compute counts of one launch of a variant's kernel: its mix of instructions, why its
# warps stall, and what the counts of accesses predict: sectors per request and bank conflicts.
# Needs a GPU whose counters this user may read. Exit 77: there is no ncu.
#
#   jobs/profile.sh WORKLOAD VARIANT [run options]
#   jobs/profile.sh gemm transposed_a --set type=f32 --set size=4Ki
#
# Or the main loop of kernels as the GPU executes it, with its instructions by class. Exit 77: no cuobjdump.
#
#   jobs/profile.sh --sass KERNEL [FILE]
#   jobs/profile.sh --sass gemm_vectorized     of the program, or of an object or cubin
#
#   QUADRILLE=build/quadrille   the program
#   KERNEL=gemm_                what the kernel's name begins with, where a repetition launches several
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
program=${QUADRILLE:-$home/build/quadrille}
[ $# -ge 2 ] || { echo "usage: jobs/profile.sh WORKLOAD VARIANT [run options] | --sass KERNEL [FILE]" >&2 && exit 2; }

if [ "$1" = --sass ]; then
  command -v cuobjdump >/dev/null || { echo "profile: no cuobjdump; load CUDA" >&2 && exit 77; }
  filter=$(command -v c++filt || command -v cat)
  cuobjdump -sass "${3:-$program}" | awk -v wanted="$2" -f "$home/jobs/main_loop.awk" | "$filter"
  exit
fi

workload=$1 variant=$2
shift 2
command -v ncu >/dev/null || { echo "profile: no ncu; load Nsight Compute" >&2 && exit 77; }

global=l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op
shared=l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op
# Not the first run, whose caches are cold, and not what fills and checks the operands.
exec ncu --nvtx --nvtx-include "quadrille@$workload/$variant/repetition/" ${KERNEL:+--kernel-name "regex:^$KERNEL"} \
  --launch-count 1 \
  --section SpeedOfLight --section InstructionStats --section WarpStateStats \
  --metrics "${global}_ld.ratio,${global}_st.ratio,${shared}_ld.sum,${shared}_st.sum" \
  "$program" run --case "$workload" --set variant="$variant" \
  --set run.vendor=off --set run.device=cuda "$@"
