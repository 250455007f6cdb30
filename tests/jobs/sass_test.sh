#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What the SGEMM worklog says of its kernels' instructions: naive and coalesced have the same main loop, as
# only their index arithmetic differs, and vectorized loads 16 bytes at a time from both memories.
# Exit 77: there is no cuobjdump.
#
# sass_test.sh FOLDER-OF-OBJECTS
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() { echo "sass_test: $1" >&2 && exit 1; }

loop_of() { # FOLDER KERNEL VARIANT: counts of its main loop
  local status=0
  shown=$(bash "$home/jobs/profile.sh" --sass "$2" "$1/gemm_$3.cu.o") || status=$?
  [ "$status" != 77 ] || exit 77
  [ "$status" = 0 ] || fail "$2 ends with $status"
  grep -E '^ +[0-9]+  [A-Z]' <<<"$shown"
}
count() { awk -v class="$2" '$2 == class { n = $1 } END { print n + 0 }' <<<"$1"; }

objects=$1
# The instance for float has If in its name.
naive=$(loop_of "$objects" gemm_naive_kernelIf naive) || exit $?
coalesced=$(loop_of "$objects" gemm_coalesced_kernelIf coalesced) || exit $?
vectorized=$(loop_of "$objects" gemm_vectorized_kernel vectorized) || exit $?

[ "$naive" = "$coalesced" ] || fail "naive and coalesced differ: $naive and $coalesced"
[ "$(count "$naive" FFMA)" -gt 0 ] || fail "naive does not multiply: $naive"
[ "$(count "$naive" LDG)" = $((2 * $(count "$naive" FFMA))) ] ||
  fail "naive does not load two elements for each multiply-add: $naive"
for class in LDG LDS; do
  [ "$(count "$vectorized" "$class.128")" -gt 0 ] || fail "vectorized has no $class.128: $vectorized"
  [ "$(count "$vectorized" "$class")" = 0 ] || fail "vectorized has $class beside $class.128: $vectorized"
done
[ "$(count "$vectorized" FFMA)" = $((16 * $(count "$vectorized" LDS.128))) ] ||
  fail "vectorized does not use each loaded vector for 16 multiply-adds: $vectorized"
