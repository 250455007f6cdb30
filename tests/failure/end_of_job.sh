#!/bin/bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
# end_of_job.sh CODE FATAL_LINES PATTERN COMMAND...: the command must end within 10 s with CODE and
# print so many FATAL lines, the first of which matches PATTERN, and at most one table, none without such
# lines. In COMMAND {nodes} stands for words that give each rank a TMPDIR of its own, as nodes have.
set -u
code=$1 lines=$2 pattern=$3
shift 3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder
# shellcheck disable=SC2016  # the shell of each rank makes its folder
nodes='export TMPDIR=$(mktemp -d) QUADRILLE_TEST_FOLDER=$TMPDIR; exec "$@"'
words=()
for word in "$@"; do
  if [ "$word" = "{nodes}" ]; then words+=(bash -c "$nodes" nodes); else words+=("$word"); fi
done
set -- "${words[@]}"
start=$(date +%s)
timeout -k 2 30 "$@" >"$folder/out" 2>&1
got=$?
seconds=$(($(date +%s) - start))
cat "$folder/out"

status=0
complain() {
  echo "end_of_job: $1"
  status=1
}
[ "$got" -eq "$code" ] || complain "exit code $got, expected $code"
[ "$seconds" -le 10 ] || complain "ended after $seconds s"
[ "$(grep -c '^FATAL' "$folder/out")" -eq "$lines" ] || complain "expected $lines FATAL lines"
[ "$(grep -c '^TABLE' "$folder/out")" -le $((lines > 0)) ] || complain "too many tables"
if [ "$lines" -gt 0 ]; then
  grep '^FATAL' "$folder/out" | head -1 | grep -Eq "$pattern" || complain "no match of '$pattern'"
fi
exit $status
