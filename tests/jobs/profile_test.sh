#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# profile.sh has ncu count what the program knows, of the run it is given, and has the program show it; it
# finds the main loop in what cuobjdump prints; and it says what is missing.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "profile_test: $1" >&2 && exit 1; }
mkdir "$folder/bin"
for tool in awk bash cat date dirname mkdir paste sed; do ln -s "$(command -v $tool)" "$folder/bin"; done
profile() { (cd "$folder" && PATH=$folder/bin QUADRILLE=$folder/program bash "$home/jobs/profile.sh" "$@"); }
# A stand-in that is called with the rest of the arguments.
stand_in() { printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$1" && chmod +x "$1"; }

for arguments in "--case gemm" "--sass gemm_naive"; do
  status=0
  # shellcheck disable=SC2086  # words
  profile $arguments >"$folder/out" 2>&1 || status=$?
  [ "$status" = 77 ] || fail "without NVIDIA's tools $arguments ends with $status"
  grep -q "profile: no " "$folder/out" || fail "$arguments does not say what is missing"
done
for arguments in "" "--sass"; do
  status=0
  # shellcheck disable=SC2086  # none is none
  profile $arguments >"$folder/out" 2>&1 || status=$?
  [ "$status" = 2 ] || fail "'$arguments' ends with $status"
done

# shellcheck disable=SC2016  # for the stand-ins
stand_in "$folder/bin/ncu" 'if [ "$1" = --import ]; then echo raw; else printf "%s\n" "$@" >ncu.arguments; fi'
# shellcheck disable=SC2016
stand_in "$folder/program" '[ "$1" = list ] && printf "  {\n    \"name\": \"%s\",\n  }\n" one.sum two.pct && exit
printf "%s\n" "$@" >program.arguments'
profile inputs/x.toml --only y >"$folder/out"
for expected in none WarpStateStats one.sum,two.pct inputs/x.toml y run.device=cuda; do
  grep -qxF "$expected" "$folder/ncu.arguments" || fail "ncu is not called with $expected"
done
run=$(grep -x 'run-.*' "$folder/ncu.arguments")
[ "$(cat "$folder/profile/profile.csv")" = raw ] || fail "no profile.csv"
[ "$(paste -sd ' ' "$folder/program.arguments")" = "report --profile profile/profile.csv profile/$run" ] ||
  fail "the profile is not shown"

# Of two loops the inner one multiplies; a branch to itself ends the kernel.
stand_in "$folder/bin/cuobjdump" "cat <<'SASS'
		Function : _ZN1a11other_kernelEv
        /*0000*/                   EXIT ;                  /* 0x000000000000794d */
		Function : _ZN1a11gemm_x_kernelEv
	.headerflags	@\"EF_CUDA_SM90\"
        /*0000*/                   MOV R1, c[0x0][0x28] ;  /* 0x00000a0000017a02 */
                                                           /* 0x000fc40000000f00 */
        /*0010*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ; /* 0x0 */
        /*0020*/                   LDS.128 R8, [R0] ;      /* 0x0 */
        /*0030*/                   FFMA R4, R8, R9, R4 ;   /* 0x0 */
        /*0040*/                   FFMA R5, R8, R9, R4 ;   /* 0x0 */
        /*0050*/              @!P0 BRA 0x20 ;              /* 0x0 */
        /*0060*/                   STG.E [R2.64], R4 ;     /* 0x0 */
        /*0070*/               @P1 BRA 0x10 ;              /* 0x0 */
        /*0080*/                   EXIT ;                  /* 0x0 */
        /*0090*/                   BRA 0x90;               /* 0x0 */
SASS"
profile --sass gemm_x >"$folder/out"
grep -q "main loop: 4 of 10 instructions" "$folder/out" || fail "another main loop: $(cat "$folder/out")"
for expected in "1  LDS.128" "2  FFMA" "1  BRA"; do
  grep -qE "^ +$expected$" "$folder/out" || fail "not counted: $expected"
done
! grep -q "LDG\|other" "$folder/out" || fail "it shows what is not in the loop"
status=0
profile --sass gemm_y >"$folder/out" 2>&1 || status=$?
[ "$status" = 1 ] || fail "a kernel that is not there: $status"
grep -q "no kernel has 'gemm_y'" "$folder/out" || fail "it does not say that the kernel is not there"
