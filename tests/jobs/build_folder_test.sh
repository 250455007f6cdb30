#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# The project is configured in a folder whose path has a blank, with a Kokkos of the user's own before that of
# jobs/setup.sh; no Kokkos, or a BLAS that is not there, is refused with what to change.
#
#   tests/jobs/build_folder_test.sh SOURCE KOKKOS    KOKKOS: the folder of its KokkosConfig.cmake
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch/log" >&2
  exit 1
}
own=$scratch/own/lib/cmake/Kokkos
mkdir -p "$own"
for part in Config ConfigVersion; do echo "include($2/Kokkos$part.cmake)" >"$own/Kokkos$part.cmake"; done

configure() {
  CMAKE_PREFIX_PATH=$scratch/own cmake -S "$1" -B "$scratch/with blank" -G Ninja -DQUADRILLE_CUDA=OFF "${@:2}" \
    >"$scratch/log" 2>&1
}
! configure "$1" -DBLA_VENDOR=nosuch || fail "it takes a BLAS that is not there"
grep -q "There is no nosuch BLAS" "$scratch/log" || fail "the message does not name the BLAS"
configure "$1" -DBLA_VENDOR=OpenBLAS || fail "it is not configured"
grep -q "Kokkos: .*found in $own;" "$scratch/log" || fail "another Kokkos is preferred"
! configure "$1" -DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON || fail "it is configured without Kokkos"
grep -q "jobs/setup.sh. builds one" "$scratch/log" || fail "the message does not say where a Kokkos comes from"
