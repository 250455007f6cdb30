#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# ReFrame takes and runs the check: it passes where the run does, lists rates, and fails where the run
# fails or ends without a result. Exit 77 (skipped) without ReFrame.
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

# check OPTION...: the exit code is ReFrame's.
check() {
  PYTHONPATH=$reframe "$python" "$reframe/bin/reframe" -C "$scratch/site.py" --prefix "$scratch" --nocolor \
    --perflogdir "$scratch/perf" --report-file "$scratch/report.json" -c jobs/reframe -r --performance-report \
    -S program="$binary" -S input=tests/workloads/small.toml "$@" >"$scratch/log" 2>&1
}
check -S options="--only vector,summa --set run.device=host" || fail "the check does not pass"
grep -q "summa/host_simd: .*FLOP/s" "$scratch/log" || fail "the rate of a variant is no performance variable"
if check -S options="--only vector --set run.device=host --inject-fault sign"; then fail "a failing run passes"; fi
if check -S program=true; then fail "a program that prints nothing passes"; fi
grep -q "no RESULT line" "$scratch/log" || fail "it is not said that no run has ended"
echo "ReFrame runs the check"
