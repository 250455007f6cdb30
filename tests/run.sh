#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds and runs the tests; ends with ctest's summary. Fails if any test fails.
#
#   tests/run.sh [--sanitize | --no-sanitize | --slow | --speed] [ctest options]      e.g. tests/run.sh -R comm
#   tests/run.sh --inputs
#
#   --sanitize   first those of what owns memory and threads, with AddressSanitizer and
#                UndefinedBehaviorSanitizer, then the others; the default where CI=true
#   --slow       the tests that take minutes, alone, which the others leave out
#   --speed      the tests that look at a clock, alone, which the others leave out: for an idle machine
#   --inputs     in place of tests all inputs that are for the devices here, with results in
#                build/inputs; what has passed with this program is left out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitize=${CI:-false}
tests=cpu
if nvidia-smi -L 2>/dev/null | grep -q GPU; then tests=all; fi
case "${1:-}" in
  --sanitize) sanitize=true && shift ;;
  --no-sanitize) sanitize=false && shift ;;
  --slow) sanitize=false tests=slow && shift ;;
  --speed) sanitize=false tests=speed && shift ;;
  --inputs) sanitize=false tests=inputs && shift ;;
esac
# ctest ignores what it does not know.
for option in "$@"; do
  if [[ $option == --* ]] && ! ctest --help | grep -qwF -e "${option%%=*}"; then
    echo "tests: $option is an option of neither this script, as the first one, nor of ctest" >&2
    exit 2
  fi
done
# Tests that start ranks wait for a third of their time: two more than there are cores keep them busy.
jobs=$(($(nproc) + 2))

# shellcheck source=tests/run_inputs.sh
source tests/run_inputs.sh
start() {
  local launcher=()
  [ "$1" = 0 ] || launcher=(mpirun --oversubscribe --bind-to none -n "$1")
  "${launcher[@]}" build/quadrille "${@:2}"
}

# names PRESET [ctest options]: of tests.
names() { ctest --preset "$1" -N "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# quietly COMMAND...: shows of its output only why it failed.
quietly() {
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 && rm -f "$log" && return
  grep -A 20 -E "error|FAILED" "$log" | head -n 60 >&2 || tail -n 40 "$log" >&2
  echo "tests: failed: $1 $2 $3" >&2
  rm -f "$log"
  return 1
}

# suite PRESET DIRECTORY TESTS [ctest options]: builds what tests start, with the preset, and runs them.
suite() {
  local preset=$1 tests=$3 targets
  echo "tests: building $preset"
  quietly cmake --preset "$preset" || return 1
  targets=$(names "$tests" "${@:4}" | grep -wFf - "$2/test_targets" | cut -d' ' -f2- -s)
  # shellcheck disable=SC2086  # a word for each target
  quietly cmake --build --preset "$preset" --target quadrille $targets || return 1
  ctest --preset "$tests" -j "$jobs" "${@:4}"
}

bash jobs/setup.sh --tests
status=0
if [ "$tests" = inputs ]; then
  quietly cmake --preset release
  quietly cmake --build --preset release --target quadrille
  run_inputs build/quadrille build/inputs || status=1
  exit $status
fi
if [ "$sanitize" = true ]; then
  suite sanitize build/sanitize sanitize "$@" || status=1
  # What has run with sanitizers is not run again without; two options -E would be one.
  [ $# -gt 0 ] || set -- -E "^($(names sanitize | paste -sd '|'))\$"
fi
suite release build "$tests" "$@" || status=1
exit "$status"
