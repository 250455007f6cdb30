#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# The project is configured in a folder whose path has a blank.
#
#   tests/jobs/build_folder_test.sh SOURCE
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! cmake -S "$1" -B "$scratch/with blank" -G Ninja -DQUADRILLE_CUDA=OFF >"$scratch/log" 2>&1; then
  cat "$scratch/log" >&2
  exit 1
fi
