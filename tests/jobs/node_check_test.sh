#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# The node check for Slurm drains a node that is BROKEN, and none of which nothing is known. A script takes the
# place of scontrol.
#
#   tests/jobs/node_check_test.sh BINARY
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $1" >&2
  cat "$scratch"/*.log >&2
  exit 1
}

cp jobs/node-check.sh "$scratch"
printf '#!/bin/sh\necho "$@" >>%s/scontrol.log\n' "$scratch" >"$scratch/scontrol"
chmod +x "$scratch/scontrol"
touch "$scratch/scontrol.log"

small=()
for name in memory_copy memory_add gemm_f64 gemm_f32; do small+=(--set "$name.size_host=64"); done

# node_check STATUS OPTIONS [VARIABLE=VALUE...]
node_check() {
  local expected=$1 status=0
  echo "QUADRILLE=$binary RANKS=1 LIMIT=600 OPTIONS=(--set run.device=host --limit 600 ${small[*]} $2)" \
    >"$scratch/node-check.env"
  shift 2
  env PATH="$scratch:$PATH" "$@" "$scratch/node-check.sh" >"$scratch/check.log" 2>&1 || status=$?
  [ "$status" = "$expected" ] || fail "it ended with $status, not $expected"
}

status=0
"$scratch/node-check.sh" --help 2>"$scratch/check.log" || status=$?
[ "$status" = 2 ] || fail "arguments are refused, and nothing runs"
grep -q "takes no arguments" "$scratch/check.log" || fail "a refusal says why"

binary=$(realpath "$1")
node_check 0 "" SLURM_JOB_ID=1
grep -q "ended with 9: CHECK UNKNOWN" "$scratch/check.log" || fail "nothing to compare with"
node_check 1 "--inject-fault bit_flip" SLURM_JOB_ID=1
grep -q "^quadrille: HW-FAIL BROKEN: memory_copy" "$scratch/check.log" || fail "a prolog says why"
[ ! -s "$scratch/scontrol.log" ] || fail "a prolog calls scontrol"
node_check 0 "--inject-fault bit_flip" SLURMD_NODENAME=node7
grep -q "^update NodeName=node7 State=DRAIN Reason=quadrille: .*BROKEN" "$scratch/scontrol.log" || fail "the node is not drained"
node_check 0 "--without luck" SLURM_JOB_ID=1
grep -q "ended with 2: .*luck" "$scratch/check.log" || fail "a wrong option is not named"
