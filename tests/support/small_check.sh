#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# For tests of `quadrille check`, to be sourced.

# Options of a check that takes seconds on a host.
# shellcheck disable=SC2034
small_check=(--quick --set run.device=host --set run.repetitions=3)
for size in memory_copy=256Ki memory_add=256Ki gemm_f64=128 gemm_f32=128 allreduce=64Ki; do
  small_check+=(--set "${size%=*}.size_host=${size#*=}")
done

# scale_table FACTOR <TABLE: the table of a machine that is so many times as fast.
scale_table() {
  python3 -c 'import re, sys
print(re.sub(r"median = ([^,]+)", lambda found: f"median = {float(found[1]) * float(sys.argv[1])}", sys.stdin.read()))' "$1"
}
