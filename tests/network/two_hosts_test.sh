#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Runs across a network: two hosts of two ranks each, on this machine, joined by a link that the test can
# count bytes on and cut. Each host is a set of name spaces: it has a name, a network, shared memory and
# processes of its own, and shares a folder with the other, as nodes of a cluster do.
# Exit 77 (skipped) without root, Open MPI 4, or the right to such name spaces.
#
#   tests/network/two_hosts_test.sh BINARY LAUNCHER...
#
# When the messages' network is cut, Open MPI's TCP neither reports it nor gives up: the kernel sends again for
# many minutes, and ranks that wait for a message wait on. What ends the job is the limit of a repetition: a rank
# says so and aborts, and mpirun, which has a network of its own to the other host, ends with that rank's code.
# When that one is cut too, ranks end by the same limit on both hosts and the table is shown, but mpirun waits
# for word from the other host beyond all limits of the program, and no exit code is promised.
set -euo pipefail
spaces=(--net --uts --ipc --mount --pid --fork --kill-child --mount-proc)

if [ "${1:-}" != --on-node1 ]; then
  PATH=$PATH:/usr/sbin:/sbin
  [ "$(id -u)" = 0 ] || { echo "skipped: hosts are made as root" && exit 77; }
  for tool in unshare nsenter setpriv ip pgrep; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool" && exit 77; }
  done
  # "mpiexec (OpenRTE) 4.1.4", "mpirun (Open MPI) 4.1.4"
  [[ $("$2" --version 2>/dev/null) =~ \((Open MPI|OpenRTE)\)\ 4\. ]] || { echo "skipped: not started by Open MPI 4" && exit 77; }
  unshare "${spaces[@]}" ip link add data type veth peer name other 2>/dev/null ||
    { echo "skipped: no name spaces, or no links between them" && exit 77; }

  scratch=$(mktemp -d)
  # However this script ends, node1 is killed, with it all that ran in its name spaces, and what they held
  # is gone: the link, and the files, which are in memory.
  setpriv --pdeathsig KILL unshare "${spaces[@]}" bash "$0" --on-node1 "$scratch" "$@" &
  node1=$!
  trap 'kill -KILL "$node1" 2>/dev/null || true; wait "$node1" 2>/dev/null || true; rmdir "$scratch"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  status=0
  wait "$node1" || status=$?
  exit "$status"
fi

scratch=$2
binary=$(realpath "$3")
launcher=("${@:4}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mount -t tmpfs tmpfs "$scratch"
cd "$scratch"
mkdir node1 node2

# The first process of a host sleeps, and buries what is left to it.
# shellcheck disable=SC2016  # the shell there expands
start='hostname "$1" && mount -t tmpfs tmpfs /dev/shm && ip link set lo up'
bash -c "$start" _ node1
unshare "${spaces[@]}" bash -c "$start && touch node2/up && while sleep 0.2; do :; done" _ node2 &
node2=$!
for _ in {1..100}; do [ -e node2/up ] || sleep 0.05; done
[ -e node2/up ] || { echo "FAILED: node2 does not start" >&2 && exit 1; }
# One network for the launcher, one for messages.
number=0
for link in admin data; do
  number=$((number + 1))
  ip link add $link type veth peer name $link netns "$node2"
  ip addr add 10.0.$number.1/24 dev $link
  nsenter --target "$node2" --net ip addr add 10.0.$number.2/24 dev $link
  ip link set $link up
  nsenter --target "$node2" --net ip link set $link up
done

# In place of ssh: HOST COMMAND...
cat >agent <<END_OF_AGENT
#!/bin/sh
[ "\$1" = node2 ] || exit 255
shift
export TMPDIR=$scratch/node2
exec nsenter --target $node2 --net --uts --ipc --mount --pid=/proc/$node2/ns/pid_for_children /bin/sh -c "\$*"
END_OF_AGENT
chmod +x agent
export TMPDIR=$scratch/node1 OMP_PROC_BIND=false OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$scratch/agent \
  OMPI_MCA_oob_tcp_if_include=admin OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self OMPI_MCA_btl_tcp_if_include=data

fail() {
  echo "FAILED: $1" >&2
  tail -v -n 30 out err >&2 2>/dev/null || true
  exit 1
}

hosts=node1:2,node2:2
# start_job LIMIT ARGUMENT...: starts the program on both hosts; its output goes to out and err.
start_job() {
  timeout --kill-after=1 "$1" "${launcher[@]}" --host "$hosts" -n 4 "$binary" "${@:2}" >out 2>err &
  job=$!
}
# end_job CODE WHAT: waits for its end.
end_job() {
  local status=0
  wait "$job" || status=$?
  [ "$status" = "$1" ] || fail "$2 ended with $status, expected $1 (124, 137: it hung)"
}
# fatal PATTERN: a line says why the job ended, and this; one for each host that can still be heard, at most,
# as each has its own folder for temporary files, by which ranks agree who speaks.
fatal() {
  local lines host
  lines=$(grep '^FATAL' err) || fail "expected a FATAL line"
  for host in node1 node2; do
    [ "$(grep -c "on $host, " <<<"$lines")" -le 1 ] || fail "expected one FATAL line of $host"
  done
  ! grep -v "$1" <<<"$lines" || fail "a FATAL line does not say: $1"
}
# What this host has sent and received on the messages' network, in bytes.
counted() { awk '$1 == "data:" { print $10, $2 }' /proc/net/dev; }

start_job 20 doctor
end_job 0 doctor
grep -q "^4 ranks, 2 nodes," out || fail "doctor does not see 4 ranks on 2 nodes"
grep -q "^ok *ranks *4 ranks on 2 nodes" out || fail "doctor does not find ranks as they were started"
for host in node1 node2; do
  [ "$(grep -cE "^ +[0-3]  $host " out)" = 2 ] || fail "doctor does not see two ranks on $host"
done
echo "doctor: 4 ranks on 2 nodes"

# In each repetition every rank sends a quarter of its row to each of the two ranks over there. All other cases
# together move less than this one alone.
row=$((8 << 20)) repetitions=8
read -r sent received < <(counted)
start_job 60 run "$here/../workloads/small.toml" --run-id small --set run.output=results \
  --set run.transport=mpi --set ptrans.transport=mpi --set alltoall.size=$((row / 8)) --set alltoall.repetitions=$repetitions
end_job 0 "the run"
[[ $(tail -n 1 out) == "RESULT PASS"* ]] || fail "the last line is not RESULT PASS"
"$binary" report --json results/small >report.json
transports=$(grep -oE '"transport": *"[^"]*"' report.json | sed 's/.*: *//' | sort -u | tr -d '\n')
[ "$transports" = '"mpi""none"' ] || fail "transports are $transports, expected mpi, and none where nothing travels"
read -r sent_then received_then < <(counted)
bound=$((repetitions * row))
for moved in $((sent_then - sent)) $((received_then - received)); do
  [ $moved -ge $bound ] || fail "$moved bytes crossed the link in one direction, expected at least $bound"
done
echo "run: $((sent_then - sent)) bytes crossed the link one way, $((received_then - received)) the other," \
  "at least $bound each were expected"

start_job 20 run --case sendrecv --set size=1000 --set transport=ipc --set run.device=host --set run.output=results
end_job 3 "a run by shared memory"
[ "$(grep -c '^quadrille: .*ranks are on 2 nodes; take hybrid' err)" = 1 ] || fail "expected one line that says why, and what to take"
echo "ipc: refused"

start_job 40 run "$here/../workloads/small.toml" --run-id hybrid --only allreduce,alltoall,broadcast,sendrecv,summa \
  --set run.transport=hybrid --set run.output=results
end_job 0 "a run by shared memory within hosts"
[[ $(tail -n 1 out) == "RESULT PASS"* ]] || fail "the last line is not RESULT PASS"
"$binary" report --json results/hybrid >report.json
grep -q '"transport": *"hybrid"' report.json || fail "nothing went by the transport hybrid"
echo "hybrid: passed"

# start_exchange LIMIT: one that nobody waits to the end of.
start_exchange() {
  start_job "$1" run --case sendrecv --set size=256Ki --set variant=transport --set transport=mpi --set run.repetitions=1000000000 \
    --set run.warmup.seconds=0 --set run.device=host --set run.output=results \
    --set run.timeout.repetition=4s --set run.timeout.grace=1s
  for _ in {1..200}; do grep -q '^\[1/1\]' out err || sleep 0.05; done
  grep -q '^\[1/1\]' out err || fail "the run does not start"
  sleep 1
  kill -0 "$job" || fail "the run ended before its link was cut"
  cut_at=$SECONDS
}

start_exchange 30
ip link set data down
end_job 5 "a run whose messages' network is cut"
fatal "no end after 5 s"
echo "messages' network cut: ended with 5 after $((SECONDS - cut_at)) s"

# Seen from here are the processes of both hosts.
ranks() { pgrep --count --exact "$(basename "$binary" | cut -c -15)" || true; }
ip link set data up
start_exchange 40
[ "$(ranks)" = 4 ] || fail "expected 4 ranks, not $(ranks)"
ip link set data down
ip link set admin down
# The rank that speaks for all may be on the other host: the first rank says it too where it is not ended.
for _ in {1..250}; do [ "$(ranks)" = 0 ] || sleep 0.1; done
[ "$(ranks)" = 0 ] || fail "$(ranks) ranks are left 25 s after all networks were cut"
fatal "no end after 5 s"
grep -q "^RESULT FAIL" out || fail "the table is not shown"
echo "all networks cut: no rank left after $((SECONDS - cut_at)) s"
echo "passed in $SECONDS s"
