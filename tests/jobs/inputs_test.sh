#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# run_inputs with a stand-in for the program: what it runs, what it runs again, what it tells.
set -uo pipefail
# shellcheck source=tests/run_inputs.sh
source "$(dirname "${BASH_SOURCE[0]}")/../run_inputs.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1"
  cat "$scratch/out"
  exit 1
}
cd "$scratch" || exit 1
echo first >program
for name in a b c; do echo "input $name" >"$name.toml"; done
printf '1\tH100 SXM\ta.toml\n2\tH100 SXM\tb.toml\n1\tH100 SXM\tc.toml\n' >listed

# Lists what the file says; each run is noted, and ends as the file NAME.ends says, if there is one.
start() {
  local ranks=$1 command=$2
  [ "$command" != list ] || { cat listed && return 0; }
  cat >/dev/null  # as mpirun does: what is left to be read must not be taken
  local name
  name=$(basename "$3" .toml)
  echo "$name:$ranks" >>ran
  if [ -e "$name.ends" ]; then
    # shellcheck source=/dev/null
    source "./$name.ends"
    return
  fi
  echo "RESULT PASS executed=1"
}
# expect CODE RAN WHY: runs, and compares the code and what ran with what is expected.
expect() {
  : >ran
  (run_inputs program logs) >out 2>&1
  local code=$?
  [ "$code" = "$1" ] || fail "$3: ended with $code"
  [ "$(tr '\n' ' ' <ran)" = "$2" ] || fail "$3: ran $(tr '\n' ' ' <ran)"
}

# shellcheck disable=SC2016  # it is expanded where it runs
echo 'kill -TERM "$BASHPID"' >b.ends
expect 143 "a:1 b:2 " "an interruption"
rm b.ends
expect 0 "b:2 c:1 " "after an interruption"
grep -q "^a  *1 x H100 SXM  *passed before  *[0-9]* s" out || fail "what passed before is not told"
grep -q "^b  *2 x H100 SXM  *passed  *[0-9]* s" out || fail "what passed is not told"
expect 0 "" "everything has passed"

echo 'echo "RESULT FAIL: 1 wrong"; return 3' >c.ends
echo changed >>c.toml
expect 1 "c:1 " "a changed input that fails"
grep -q "^c .*FAILED (3)" out || fail "the failure is not told"
grep -q "^    RESULT FAIL: 1 wrong" out || fail "its reason is not told"
expect 1 "c:1 " "a failure is not taken for a pass"
echo 'return 0' >c.ends
expect 1 "c:1 " "an end without a result is not a pass"
rm c.ends
expect 0 "c:1 " "what failed runs again"

echo second >program
expect 0 "a:1 b:2 c:1 " "another program"
sed -i 's/SXM/PCIe/' listed
expect 0 "a:1 b:2 c:1 " "another device"
: >listed
expect 1 "" "nothing is for this device"
grep -q "no input is for the devices here" out || fail "it is not told"
echo "inputs run once, and again where something has changed"
