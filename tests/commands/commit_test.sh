#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# The commit that a program names is the one it was built from, whenever it was configured: a small
# project with src/commit.cmake is configured once, changed and built again.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/src
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch/log" >&2 2>/dev/null || true
  exit 1
}
git() { command git -c user.name=test -c user.email=test@localhost "$@"; }

project=$scratch/project
mkdir "$project"
cd "$project"
cp "$source/commit.cmake" "$source/commands/commit.hpp.in" .
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(stamped LANGUAGES CXX)
include(commit.cmake)
add_executable(stamped main.cpp)
target_include_directories(stamped PRIVATE ${CMAKE_BINARY_DIR})
quadrille_stamp_commit(stamped commit.hpp.in ${CMAKE_BINARY_DIR}/commit.hpp)
END
printf '%s\n' '#include "commit.hpp"' '#include <cstdio>' 'int main() { std::puts(QUADRILLE_COMMIT); }' >main.cpp

# expect COMMIT WHEN: what a build of the project names.
expect() {
  cmake --build "$scratch/build" >"$scratch/log" 2>&1 || fail "no build $2"
  local named
  named=$("$scratch/build/stamped")
  [ "$named" = "$1" ] || fail "$2 the program names '$named', expected '$1'"
}
head() { git rev-parse --short HEAD; }

cmake -S . -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug >"$scratch/log" 2>&1 || fail "it is not configured"
expect unknown "outside of git"
git init -q "$scratch"
git -C "$scratch" commit -q --allow-empty -m "Another project"
expect unknown "within another project"
git init -q .
expect unknown "before the first commit"
git add . && git commit -q -m "First"
expect "$(head)" "after the first commit"
echo "// changed" >>main.cpp
expect "$(head)-dirty" "after a change"
git commit -q -a -m "Second"
expect "$(head)" "after the second commit"
git checkout -q HEAD~
expect "$(head)" "after going back"

expect "$(head)" "without a change"
! grep -q main.cpp "$scratch/log" || fail "without a change it is compiled again"

if [ "$(id -u)" = 0 ]; then
  chown -R 65534 .
  expect "$(git -c safe.directory="$project" rev-parse --short HEAD)" "where another user owns the source"
fi
PATH=$scratch/bin:$PATH
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "git is out of order" >&2\nexit 128\n' >"$scratch/bin/git"
chmod +x "$scratch/bin/git"
expect unknown "where git fails"
grep -q "git is out of order" "$scratch/log" || fail "nothing says why"
echo "each build names its commit"
