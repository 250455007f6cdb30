#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# profile.sh asks for the sections and counters it names, of the case it is given, and says where there
# is no ncu.
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
for expected in 'regex:^transpose_' InstructionStats WarpStateStats variant=naive_8x32 size=1Ki; do
  grep -qxF "$expected" "$folder/out" || fail "ncu is not called with $expected"
done
grep -q "sectors_per_request.*_ld.ratio,.*bank_conflicts.*_st.sum" "$folder/out" || fail "counters are missing"

status=0
bash "$home/jobs/profile.sh" gemm >"$folder/out" 2>&1 || status=$?
[ "$status" = 2 ] || fail "without a variant it ends with $status"
