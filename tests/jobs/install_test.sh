#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What 'cmake --install' leaves runs from wherever its folder is moved, and its job scripts find what
# they name; an srun that only shows its command stands for Slurm.
#
#   tests/jobs/install_test.sh BUILD
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch"/log >&2 2>/dev/null || true
  exit 1
}

# As where it was built for another machine: with this folder in front the program does not start.
mkdir "$scratch/foreign"
: >"$scratch/foreign/$(ldd "$1/quadrille" | awk '/libmpi/ {print $1; exit}')"
! LD_LIBRARY_PATH=$scratch/foreign "$1/quadrille" --version >"$scratch/log" 2>&1 || fail "the program starts with an empty MPI"
LD_LIBRARY_PATH=$scratch/foreign cmake --install "$1" --prefix "$scratch/installed" >"$scratch/log" 2>&1 ||
  fail "it is not installed"
prefix=$scratch/moved
mv "$scratch/installed" "$prefix"
cd "$scratch"
"$prefix/bin/quadrille" --version >log 2>&1 || fail "the program does not start"
"$prefix/bin/quadrille" run "$prefix/share/quadrille/inputs/quickstart.toml" --dry-run \
  --set run.device=host >log 2>&1 || fail "an installed input does not run"
for file in README.md LICENSE; do
  [ -s "$prefix/share/doc/quadrille/$file" ] || fail "no $file"
done

bash -n "$prefix/share/bash-completion/completions/quadrille" || fail "no completion for bash"
grep -q "^#compdef quadrille" "$prefix/share/zsh/site-functions/_quadrille" || fail "no completion for zsh"
grep -q "^\.TH QUADRILLE 1" "$prefix/share/man/man1/quadrille.1" || fail "no manual"

if command -v modulecmd >/dev/null; then
  version=$("$prefix/bin/quadrille" --version | cut -d " " -f 1)
  MODULEPATH=$prefix/share/modulefiles modulecmd bash load "quadrille/$version" >log 2>&1 || fail "the module file"
  for line in "PATH=$prefix/bin:" "QUADRILLE=$prefix/bin/quadrille" "MANPATH=$prefix/share/man"; do
    grep -qF "$line" log || fail "the module does not set $line"
  done
fi

mkdir bin
printf '#!/bin/bash\necho "srun $*"\necho "RESULT PASS"\n' >bin/srun
chmod +x bin/srun
for job in single-node multi-node; do
  SLURM_SUBMIT_DIR=$prefix/share/quadrille SLURM_CPUS_PER_TASK=1 PATH=$scratch/bin:$PATH \
    QUADRILLE=$prefix/bin/quadrille bash "$prefix/share/quadrille/jobs/$job.sbatch" >log 2>&1 || fail "$job.sbatch"
  grep -qF " $prefix/bin/quadrille run inputs/quickstart.toml" log || fail "$job.sbatch does not run the program"
done
echo "the installed program, inputs and job scripts work from another folder"
