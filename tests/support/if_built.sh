#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Runs a test that only 'cmake --build build --target quadrille_gpu_tests' builds. Where it is not
# built: exit 77 (skipped), but a failure where there is a GPU to run it.
#
#   tests/support/if_built.sh PROGRAM [LAUNCHER...]
set -euo pipefail
program=$1 && shift
[ ! -x "$program" ] || exec "$@" "$program"
hint="$program is not built; the target quadrille_gpu_tests builds it"
if nvidia-smi -L 2>/dev/null | grep -q GPU; then
  echo "FAILED: $hint" >&2
  exit 1
fi
echo "skipped: $hint"
exit 77
