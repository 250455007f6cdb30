#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# profile.sh asks for the sections and counters it names, of the case it is given, finds the main loop in what
# cuobjdump prints, and says where there is no ncu or cuobjdump.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "profile_test: $1" >&2 && exit 1; }
ln -s "$(command -v bash)" "$(command -v dirname)" "$folder"

status=0
PATH=$folder bash "$home/jobs/profile.sh" gemm naive >"$folder/out" 2>&1 || status=$?
[ "$status" = 77 ] || fail "without ncu it ends with $status"
grep -q "no ncu" "$folder/out" || fail "it does not say that there is no ncu"

printf '#!%s\nprintf "%%s\\n" "$@"\n' "$(command -v bash)" >"$folder/ncu"
chmod +x "$folder/ncu"
PATH=$folder bash "$home/jobs/profile.sh" transpose naive_8x32 --set size=1Ki >"$folder/out"
for expected in 'quadrille@transpose/naive_8x32/repetition/' InstructionStats WarpStateStats variant=naive_8x32 size=1Ki; do
  grep -qxF "$expected" "$folder/out" || fail "ncu is not called with $expected"
done
! grep -q "regex" "$folder/out" || fail "it picks kernels by name unasked"
PATH=$folder KERNEL=transpose_blocks bash "$home/jobs/profile.sh" transpose naive_8x32 >"$folder/named"
grep -qxF 'regex:^transpose_blocks' "$folder/named" || fail "it does not take the kernel's name"
grep -q "sectors_per_request.*_ld.ratio,.*bank_conflicts.*_st.sum" "$folder/out" || fail "counters are missing"

status=0
bash "$home/jobs/profile.sh" gemm >"$folder/out" 2>&1 || status=$?
[ "$status" = 2 ] || fail "without a variant it ends with $status"

for tool in awk cat; do ln -s "$(command -v $tool)" "$folder"; done
profile() { PATH=$folder bash "$home/jobs/profile.sh" "$@"; }
# Of two loops the inner one multiplies; a branch to itself ends the kernel.
printf '#!%s\n%s\n' "$(command -v bash)" "cat <<'SASS'
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
SASS" >"$folder/cuobjdump"
chmod +x "$folder/cuobjdump"
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
