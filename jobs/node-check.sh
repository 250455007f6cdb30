#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Drains a node that `quadrille check --quick` calls SLOW or BROKEN: Slurm's Prolog, Epilog and
# HealthCheckProgram, all three of them. In slurm.conf:
#
#   Prolog=/opt/quadrille/jobs/node-check.sh
#   Epilog=/opt/quadrille/jobs/node-check.sh
#   HealthCheckProgram=/opt/quadrille/jobs/node-check.sh
#   HealthCheckInterval=3600
#   HealthCheckNodeState=IDLE
#
# Runs as root, on this node alone, one rank for each GPU, for 30 s at most, and only where no other job has a
# step here. Exit codes: of Prolog and Epilog anything but 0 drains the node; the HealthCheckProgram, which has
# no job, drains it by scontrol. What is not decided (UNKNOWN, or no time) drains nothing.
#
# node-check.env beside this script is read first, if it is there:
#   QUADRILLE   the binary, default build/quadrille of this repository
#   OPTIONS     further options, such as (--reference /opt/site.toml)
#   RANKS       default: the number of GPUs, or 1
#   LIMIT       seconds, default 30
set -euo pipefail
[ $# = 0 ] || { echo "node-check: takes no arguments; its settings are in node-check.env" >&2 && exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OPTIONS=()
# shellcheck source=/dev/null
if [ -r "$here/node-check.env" ]; then source "$here/node-check.env"; fi
gpus=(/dev/nvidia[0-9]*)
[ -e "${gpus[0]}" ] || gpus=(none)
RANKS=${RANKS:-${#gpus[@]}}

# Steps of other jobs; in a prolog and an epilog there is none of the own job.
if pgrep -f '^slurmstepd: \[' >/dev/null; then exit 0; fi

output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
status=0
# Without Slurm's variables: mpirun would ask for a step of the job.
env -i PATH="$PATH" HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  timeout "${LIMIT:-30}" mpirun -q --host "localhost:$RANKS" -n "$RANKS" --bind-to none \
  "${QUADRILLE:-$here/../build/quadrille}" check --quick --output "$output" "${OPTIONS[@]}" >"$output/screen" 2>&1 ||
  status=$?
# 1 without a verdict is mpirun's.
if [ ! -s "$output/nodecheck.txt" ] || { [ "$status" != 1 ] && [ "$status" != 6 ]; }; then
  [ "$status" = 0 ] || echo "quadrille check ended with $status: $(tail -n 1 "$output/screen")" >&2
  exit 0
fi
reason="quadrille: $(tail -n 1 "$output/nodecheck.txt" | cut -d ' ' -f 2-)"
echo "$reason"
[ -z "${SLURM_JOB_ID:-}" ] || exit 1
scontrol update "NodeName=${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN "Reason=$reason"
