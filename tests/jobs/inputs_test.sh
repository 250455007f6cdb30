#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# run_inputs with a stand-in for the program: what it runs, what it runs again, what it tells. Then the bundle's
# gpu_tests.sh and tests/run.sh, which call it with --inputs.
set -uo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/run_inputs.sh
source "$home/tests/run_inputs.sh"

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

mkdir -p bundle/bin tree/{tests,jobs,build} tools
sed -n "/gpu_tests.sh\" <<'END'/,/^END/p" "$home/jobs/bundle.sh" | sed '1d;$d' >bundle/gpu_tests.sh
cp "$home/tests/run_inputs.sh" bundle/
cp "$home"/tests/run{,_inputs}.sh tree/tests/
touch tree/jobs/setup.sh
ln -s "$(type -P true)" tools/cmake
# Notes its words, and lists or passes an input on two ranks.
cat >tools/mpirun <<END
#!/usr/bin/env bash
echo "\${0##*/} \$*" >>"$scratch/ran"
if [[ \$* == *list* ]]; then printf '2\tH100 SXM\t%s\n' "$scratch/a.toml"; else echo "RESULT \${RESULT:-PASS}"; fi
END
chmod +x tools/mpirun
for stand_in in bundle/run.sh bundle/bin/quadrille tree/build/quadrille; do cp tools/mpirun $stand_in; done
# calls SCRIPT LOGS PROGRAM WORDS...: with these words the program starts, on no rank and on two.
calls() {
  local script=$1 logs=$2 program=$3 run="run $scratch/a.toml --set run.output=$2/results"
  : >ran
  (cd tree && PATH=$scratch/tools:$PATH LOGS=../logs bash "$script" --inputs) >out 2>&1 || fail "$script"
  [ "$(cat ran)" = "$4list inputs --here"$'\n'"$5$run" ] || fail "$script started $(cat ran)"
  grep -q "^$(hash_of "$program")" "tree/$logs/passed" || fail "$script does not keep what has passed"
  rm "tree/$logs/passed"
  ! (cd tree && PATH=$scratch/tools:$PATH LOGS=../logs RESULT=FAIL bash "$script" --inputs) >out 2>&1 ||
    fail "$script passes where an input fails"
}
calls ../bundle/gpu_tests.sh ../logs/inputs bundle/bin/quadrille "run.sh -n 0 " "run.sh -n 2 "
calls tests/run.sh build/inputs tree/build/quadrille "quadrille " \
  "mpirun --oversubscribe --bind-to none -n 2 build/quadrille "
echo "inputs run once, and again where something has changed"
