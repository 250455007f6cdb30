#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Runs clang-tidy on C++ files, in pre-commit on the changed ones, with the options that build/ compiles
# them with; any finding in these files fails. Says so and passes where it cannot look.
#
#   tests/structure/clang_tidy.sh FILE...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() {
  echo "clang-tidy: skipped${2:+ $2}: $1"
}
database=build/compile_commands.json
[ -e "$database" ] || { skip "no $database; 'cmake --preset release' writes it" && exit 0; }
# Earlier ones do not know std::source_location of GCC's library.
tidy=$(command -v clang-tidy-16 || command -v clang-tidy || true)
version=$([ -z "$tidy" ] || "$tidy" --version | sed -n 's/.*version \([0-9]*\).*/\1/p')
[ "${version:-0}" -ge 16 ] || { skip "no clang-tidy 16 or later" && exit 0; }

# Headers that g++ has precompiled are of no use to clang, and each file includes what it needs.
options=$(mktemp -d)
trap 'rm -rf "$options"' EXIT
sed -E 's/-Winvalid-pch -include [^ ]*cmake_pch\.hxx//' "$database" >"$options/compile_commands.json"

files=()
for file in "$@"; do
  # A header takes the options of a file near it.
  if [[ $file == *.hpp ]] || grep -qF "/$file\"" "$database"; then
    files+=("$file")
  else
    skip "build/ does not compile it" "$file"
  fi
done
[ ${#files[@]} = 0 ] || "$tidy" -p "$options" --quiet --header-filter=NONE --warnings-as-errors='*' "${files[@]}"
