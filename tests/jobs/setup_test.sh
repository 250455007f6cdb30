#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What jobs/setup.sh builds, with programs in place of pip, CMake and nvcc that only pretend.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $1" >&2
  cat "$scratch"/out >&2 2>/dev/null || true
  exit 1
}
# pretend NAME: an executable of that name, its text from standard input.
mkdir "$scratch/bin" "$scratch/archive"
export PRETENDED=$scratch
pretend() {
  { echo "#!/bin/bash" && cat; } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
pretend apt-get <<<'exit 1'
pretend dpkg-query <<<'echo "install ok installed"'
pretend nvcc <<'END'
[ "$CUDA" != 0 ] && echo "Cuda compilation tools, release $CUDA.0, V$CUDA.0.88"
END
pretend python3 <<'END'
case "$2" in
  venv) mkdir -p "$3/bin" && cp "$PRETENDED/bin/pip" "$3/bin/pip" ;;
  zipfile) mkdir -p "$5/nvidia/cu13/include" && cp "$4" "$5/nvidia/cu13/include/nvml.h" ;;
esac
END
pretend pip <<'END'
while [ $# -gt 0 ]; do
  if [ "$1" = -d ]; then cp "$PRETENDED/archive/pygenten-1.tar.gz" "$2" && touch "$2/nvml.whl"; fi
  shift
done
END
# Remembers options and source of a build; installs nothing but a version.
pretend cmake <<'END'
case "$1" in
  -S)
    cp "$2/core/src/Cuda/Kokkos_Cuda_Instance.hpp" "$PRETENDED/built.hpp"
    printf '%s\n' "$@" >"$PRETENDED/options"
    ;;
  --install)
    folder=$DESTDIR$(sed -n 's/^-DCMAKE_INSTALL_PREFIX=//p' "$PRETENDED/options")/lib/cmake/Kokkos
    mkdir -p "$folder" && echo 'set(PACKAGE_VERSION "4.7.0")' >"$folder/KokkosConfigVersion.cmake"
    ;;
esac
END
source=$scratch/archive/pygenten-1/tpls/kokkos/core/src/Cuda
mkdir -p "$source"
cat >"$source/Kokkos_Cuda_Instance.hpp" <<'END'
    return cudaGraphAddDependencies(graph, from, to, numDependencies);
    return cudaMemPrefetchAsync(devPtr, count, dstDevice, m_stream);
END
tar -C "$scratch/archive" -czf "$scratch/archive/pygenten-1.tar.gz" pygenten-1

root=$scratch/root
mkdir -p "$root/jobs" && cp "$here/jobs/setup.sh" "$root/jobs/"
# setup CUDA OPTION...: what it says is in $scratch/out.
setup() {
  local cuda=$1 code=0
  shift
  env -u Kokkos_ROOT -u CMAKE_PREFIX_PATH CUDA="$cuda" PATH="$scratch/bin:$PATH" \
    bash "$root/jobs/setup.sh" "$@" >"$scratch/out" 2>&1 || code=$?
  return $code
}
built() { grep -qF -- "$1" "$scratch/built.hpp" "$scratch/options"; }

setup 13 --kokos-cuda && fail "an unknown option is accepted"
grep -q "usage:.*--kokkos-cuda" "$scratch/out" || fail "the usage does not name --kokkos-cuda"

# The host's Kokkos, unless the machine has one of its own.
setup 13 || fail "without options"
[ -e "$root/.deps/nvml/nvml.h" ] || fail "a toolkit without nvml.h gets none"
if [ -e "$scratch/options" ]; then
  built "Kokkos_ENABLE_CUDA=ON" && fail "the host's Kokkos has CUDA"
  built "nullptr, numDependencies" && fail "the host's Kokkos is mended"
fi
mkdir -p "$root/.deps/lib/cmake/Kokkos"
echo 'set(PACKAGE_VERSION "4.7.0")' >"$root/.deps/lib/cmake/Kokkos/KokkosConfigVersion.cmake"
touch "$root/.deps/kept"

setup 13 --kokkos-cuda || fail "--kokkos-cuda"
for option in Kokkos_ENABLE_CUDA=ON Kokkos_ENABLE_OPENMP=ON Kokkos_ARCH_HOPPER90=ON \
  Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON "$root/.deps/cuda-kokkos"; do
  built "$option" || fail "built without $option"
done
built "from, to, nullptr, numDependencies" || fail "cudaGraphAddDependencies is not mended"
built "cudaMemLocation{cudaMemLocationTypeDevice, dstDevice}, 0, m_stream" ||
  fail "cudaMemPrefetchAsync is not mended"
[ -e "$root/.deps/cuda-kokkos/lib/cmake/Kokkos" ] || fail "nothing is installed"
[ -e "$root/.deps/kept" ] || fail "the rest of .deps is gone"

setup 13 --kokkos-cuda || fail "--kokkos-cuda, again"
[ ! -s "$scratch/out" ] || fail "it is built again"

rm -rf "$root/.deps/cuda-kokkos"
setup 12 --kokkos-cuda || fail "--kokkos-cuda with CUDA 12"
built "from, to, numDependencies" || fail "CUDA 12 gets calls of CUDA 13"

rm -rf "$root/.deps/cuda-kokkos"
rm -rf "$root/.deps/nvml"
setup 0 || fail "without nvcc"
[ ! -e "$root/.deps/nvml" ] || fail "nvml.h is fetched without nvcc"
mkdir "$scratch/include" && touch "$scratch/include/nvml.h"
setup 13 || fail "with a whole toolkit"
[ ! -e "$root/.deps/nvml" ] || fail "nvml.h is fetched beside that of the toolkit"
code=0
setup 0 --kokkos-cuda || code=$?
[ "$code" = 3 ] || fail "without nvcc it ends with $code, expected 3"
grep -q "needs nvcc" "$scratch/out" || fail "without nvcc it does not say what is missing"
echo "setup.sh builds what is asked for, once"
