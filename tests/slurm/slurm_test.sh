#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Submits a job script, or the one that `quadrille slurm` prints, to a Slurm of two nodes that lives for
# this test only, on this machine, and checks that the run passes; or has Slurm check its nodes, of which one is
# slow beside its table: it must be drained by the HealthCheckProgram, and by the Prolog of a job that another
# passes. Exit 77 (skipped) where Slurm or munge is missing, or without root.
#
#   tests/slurm/slurm_test.sh single-node|multi-node|generated|node-check [BINARY [INPUT]]
#
#   SCRATCH   where configuration, logs and output go (default: a temporary directory, removed)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
job=${1:-}
case $job in
  single-node | multi-node | generated | node-check) ;;
  *) echo "usage: slurm_test.sh single-node|multi-node|generated|node-check [BINARY [INPUT]]" >&2 && exit 2 ;;
esac
export QUADRILLE=${2:-build/quadrille} INPUT=${3:-inputs/quickstart.toml} QUADRILLE_SITE=example

PATH=$PATH:/usr/sbin
for tool in munged mungekey slurmctld slurmd sbatch srun sinfo; do
  command -v "$tool" >/dev/null || { echo "skipped: no $tool" && exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: munged, slurmctld and slurmd are started as root" && exit 77; }
unshare --mount --uts true 2>/dev/null || { echo "skipped: no name spaces for the nodes" && exit 77; }

daemons=()
scratch=${SCRATCH:-}
stop() {
  local daemon
  for daemon in "${daemons[@]}"; do
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" || true
  done
  if [ -z "${SCRATCH:-}" ]; then rm -rf "$scratch"; fi
}
trap stop EXIT
if [ -n "$scratch" ]; then mkdir -p "$scratch"; else scratch=$(mktemp -d); fi
chmod 755 "$scratch"

fail() {
  echo "FAILED: $1" >&2
  tail -v -n 20 "$scratch"/*.log "$scratch"/*.out "$scratch"/*.err >&2 2>/dev/null || true
  exit 1
}

# wait_for SECONDS COMMAND...
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "waited in vain for: $*"
    sleep 0.2
  done
}

install -d -o munge -g munge -m 755 "$scratch/munge"
mungekey --create --keyfile="$scratch/munge/key"
chown munge:munge "$scratch/munge/key"
socket=$scratch/munge/socket
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --socket="$socket" \
  --key-file="$scratch/munge/key" \
  --pid-file="$scratch/munge/pid" --seed-file="$scratch/munge/seed" 2>"$scratch/munged.log" &
daemons+=($!)
wait_for 10 test -S "$socket"

read -ra ports < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')

# Two nodes that are both this machine. Each claims the cores that the job asks for, whatever is there.
export SLURM_CONF=$scratch/slurm.conf
mkdir "$scratch/state" "$scratch/tmp.node1" "$scratch/tmp.node2"
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$socket
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdSpoolDir=$scratch/spool.%n
TmpFS=$scratch/tmp.%n
SlurmdPidFile=$scratch/slurmd.%n.pid
SlurmdLogFile=$scratch/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmix
ReturnToService=2
SelectType=select/linear
SchedulerParameters=sched_min_interval=0
NodeName=node1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=4
NodeName=node2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=4
PartitionName=test Nodes=ALL Default=YES MaxTime=10
END
if [ "$job" = node-check ]; then
  mkdir "$scratch/jobs"
  cp jobs/node-check.sh "$scratch/jobs"
  # shellcheck source=tests/support/small_check.sh
  source tests/support/small_check.sh
  # What is measured here, of machines that are a hundred times slower and as much faster.
  "$QUADRILLE" check "${small_check[@]}" --write-reference "$scratch/table.toml" >"$scratch/table.out" 2>&1 ||
    [ $? = 9 ] || fail "no table"
  for factor in 0.01 100; do scale_table "$factor" <"$scratch/table.toml" >"$scratch/$factor.toml"; done
  cat >"$scratch/jobs/node-check.env" <<END
export SLURM_CONF=$SLURM_CONF
QUADRILLE=$(readlink -f "$QUADRILLE")
OPTIONS=(${small_check[*]} --reference $scratch/\$([ "\$(hostname)" = node2 ] && echo 100 || echo 0.01).toml)
END
  cat >>"$SLURM_CONF" <<END
Prolog=$scratch/jobs/node-check.sh
Epilog=$scratch/jobs/node-check.sh
HealthCheckProgram=$scratch/jobs/node-check.sh
HealthCheckInterval=10
HealthCheckNodeState=IDLE
END
fi
slurmctld -D -f "$SLURM_CONF" 2>/dev/null &
daemons+=($!)
for node in node1 node2; do
  # Own name and own shared memory: MPI must not take the ranks of the other node for neighbours.
  # shellcheck disable=SC2016  # the inner shell expands
  unshare --mount --uts bash -c 'hostname "$1" && mount -t tmpfs tmpfs /dev/shm && exec slurmd -D -N "$1" -f "$2"' \
    _ "$node" "$SLURM_CONF" 2>/dev/null &
  daemons+=($!)
done
two_idle() { [ "$(sinfo -h -N -o %T | grep -c idle)" = 2 ]; }

if [ "$job" = node-check ]; then
  # shellcheck disable=SC2317  # wait_for calls both
  reason_of() { sinfo -h -N -n "$1" -o "%T %E"; }
  # shellcheck disable=SC2317
  is_drained() { reason_of node2 | grep -q "^drain.* $1"; }
  job_on() { timeout 100 sbatch -W -w "$1" --no-requeue --time=2 --output="$scratch/$1.out" --wrap true; }
  wait_for 90 is_drained "quadrille: .*SLOW"
  wait_for 30 eval 'reason_of node1 | grep -q "^idle none"'
  sed -i '/^HealthCheck/d' "$SLURM_CONF"
  scontrol reconfigure
  job_on node1 || fail "no job passes a node that is all right"
  scontrol update NodeName=node2 State=RESUME
  wait_for 30 two_idle
  job_on node2 &
  wait_for 90 is_drained "Prolog error"
  exit
fi
wait_for 30 two_idle

script=jobs/$job.sbatch
options=(--ntasks-per-node=2 --cpus-per-task=1 --time=5)
if [ "$job" = generated ]; then
  script=$scratch/generated.sbatch
  options=()
  "$QUADRILLE" slurm "$INPUT" --nodes 2 --ranks-per-node 2 --time 5min --partition test >"$script" ||
    fail "quadrille slurm ended with $?"
fi
status=0
timeout 300 sbatch -W "${options[@]}" \
  --output="$scratch/job.out" --error="$scratch/job.err" "$script" || status=$?
[ "$status" = 0 ] || fail "sbatch -W $script ended with $status"
cat "$scratch/job.out"
[[ $(tail -n 1 "$scratch/job.out") == "RESULT PASS"* ]] || fail "the last line is not RESULT PASS"
[ "$job" != generated ] || grep -q "^4 ranks, 2 nodes" "$scratch/job.out" || fail "it did not run 2 ranks on each of 2 nodes"
