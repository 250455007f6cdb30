#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# ReFrame takes and runs the checks: they pass where the run or the nodes do, list rates, and fail where these
# fail or end without a result. Exit 77 (skipped) without ReFrame.
#
#   tests/jobs/reframe_test.sh BINARY [PYTHON]     that has the Debian packages
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
binary=$(readlink -f "$1")
python=${2:-/usr/bin/python3}
reframe=$PWD/.deps/reframe
[ -e "$reframe/bin/reframe" ] || { echo "skipped: no ReFrame in .deps; jobs/setup.sh --tests fetches it" && exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  tail -n 60 "$scratch"/log "$scratch"/stage/*/*/*/*/rfm_job.* >&2 2>/dev/null || true
  exit 1
}

cat >"$scratch/site.py" <<'CONFIGURATION'
site_configuration = {
    "systems": [{
        "name": "here", "hostnames": [".*"], "modules_system": "nomod",
        "partitions": [{"name": "cores", "scheduler": "local", "launcher": "mpirun", "environs": ["builtin"]}],
    }],
    "environments": [{"name": "builtin", "cc": "cc", "cxx": "", "ftn": ""}],
}
CONFIGURATION
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none

# check CLASS OPTION...: the exit code is ReFrame's.
check() {
  PYTHONPATH=$reframe "$python" "$reframe/bin/reframe" -C "$scratch/site.py" --prefix "$scratch" --nocolor \
    --perflogdir "$scratch/perf" --report-file "$scratch/report.json" -c jobs/reframe -r --performance-report \
    -n "$1" -S program="$binary" "${@:2}" >"$scratch/log" 2>&1
}
run() { check QuadrilleCheck -S input=tests/workloads/small.toml "$@"; }
run -S options="--only vector,summa --set run.device=host" || fail "the check does not pass"
grep -q "summa/host_simd: .*FLOP/s" "$scratch/log" || fail "the rate of a variant is no performance variable"
if run -S options="--only vector --set run.device=host --inject-fault sign"; then fail "a failing run passes"; fi
if run -S program=true; then fail "a program that prints nothing passes"; fi
grep -q "no RESULT line" "$scratch/log" || fail "it is not said that no run has ended"

# Nothing to compare with is no PASS; beside a machine that is a hundred times slower, and one that is as much faster.
# shellcheck source=tests/support/small_check.sh
source tests/support/small_check.sh
nodes() { check QuadrilleNodeCheck -S options="${small_check[*]} $*"; }
if nodes --write-reference "$scratch/table.toml"; then fail "a node of which nothing is known passes"; fi
for factor in 0.01 100; do scale_table "$factor" <"$scratch/table.toml" >"$scratch/$factor.toml"; done
# Samples of a busy host may tell nothing: then it is asked again.
fast_node() {
  for _ in 1 2 3 4 5; do
    if nodes --reference "$scratch/0.01.toml"; then return; fi
    grep -rq "CHECK UNKNOWN" "$scratch/stage" || return 1
  done
  return 1
}
fast_node || fail "a node that is fast enough does not pass"
grep -q "node/gemm_f64: .*FLOP/s" "$scratch/log" || fail "a metric of a node is no performance variable"
if nodes --reference "$scratch/100.toml"; then fail "a slow node passes"; fi
grep -q "does not end with CHECK PASS" "$scratch/log" || fail "it is not said that the node is slow"
echo "ReFrame runs the checks"
