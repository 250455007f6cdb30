#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# The build steps of the container recipes, run here with programs in place of apt-get and CMake that
# only pretend: they set up and build the program, leave nothing that others may write, and their default
# commands start what was built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$here/tests/jobs/recipe.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch"/log >&2 2>/dev/null || true
  exit 1
}
mkdir "$scratch/bin" "$scratch/tree"
cp -r "$here"/{jobs,CMakeLists.txt,CMakePresets.json} "$scratch/tree"
# shellcheck disable=SC2016  # the pretending programs expand it
pretend='#!/bin/bash
echo "$(basename "$0") $*" >>"$PRETENDED"'
for program in cmake git mpirun; do echo "$pretend" >"$scratch/bin/$program"; done
chmod +x "$scratch"/bin/*
echo "$pretend" >"$scratch/tree/jobs/setup.sh"
export PRETENDED=$scratch/said

# What git ignores was built on the machine that builds the image, for it.
mapfile -t ignored < <(sed -n 's#^/\(.*\)/$#\1#p' "$here/.gitignore")
[ ${#ignored[@]} -gt 3 ] || fail "git ignores: ${ignored[*]}"
for folder in "${ignored[@]}"; do
  grep -qxF "$folder" "$here/.dockerignore" || fail "Docker would copy $folder"
  mkdir "$scratch/tree/$folder" && touch "$scratch/tree/$folder/stale"
done

# steps NAME < COMMANDS: runs them in the copy of the tree, instead of at /opt/quadrille.
steps() {
  sed -e "s#/opt/quadrille#$scratch/tree#g" -e '/rm -rf .var.lib/d' >"$scratch/$1"
  rm -f "$PRETENDED"
  (cd "$scratch/tree" && PATH=$scratch/bin:$PATH HOST_ARCH=x86-64-v3 ARCHITECTURES=90a bash -eu "$scratch/$1") \
    >"$scratch/log" 2>&1 || fail "the steps of $1"
  local said
  said=$(cat "$PRETENDED")
  [[ $said == "setup.sh "*"cmake --preset release -DQUADRILLE_HOST_ARCH=x86-64-v3 "*"cmake --build build --target quadrille"* ]] ||
    fail "$1 runs: $said"
}
cd "$here/jobs/containers"
for recipe in Dockerfile quadrille.def; do recipe_build $recipe | steps $recipe; done
for folder in "${ignored[@]}"; do
  [ ! -e "$scratch/tree/$folder/stale" ] || fail "quadrille.def keeps $folder"
done
writable=$(find "$scratch/tree" ! -type l -perm /o=w)
[ -z "$writable" ] || fail "quadrille.def lets everybody write $writable"
unreadable=$(find "$scratch/tree" ! -type l ! -perm /o=r)
[ -z "$unreadable" ] || fail "quadrille.def hides $unreadable"

# default_command NAME < COMMANDS: what they start, where setting up and building would be seen.
default_command() {
  sed -e "s#/opt/quadrille#$scratch/tree#g" >"$scratch/$1.default"
  rm -f "$PRETENDED"
  (cd "$scratch/tree" && PATH=$scratch/bin:$PATH bash -eu "$scratch/$1.default") >"$scratch/log" 2>&1 ||
    fail "the default command of $1"
  grep -qE "^mpirun -n 2 .*quadrille run .*inputs/quickstart.toml$" "$PRETENDED" || fail "$1 starts: $(cat "$PRETENDED")"
  [ "$(wc -l <"$PRETENDED")" = 1 ] || fail "$1 does more than run: $(cat "$PRETENDED")"
}
for recipe in Dockerfile quadrille.def; do recipe_default $recipe | default_command $recipe; done

for recipe in Dockerfile quadrille.def; do
  grep -qF "bash tests/run.sh" "$recipe" || fail "$recipe does not tell how to run the tests"
done
echo "the recipes set up and build, and run what was built"
