#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building Quadrille needs: Debian packages, and into .deps Kokkos unless one of at
# least the same version is found, and nvml.h where there is an nvcc without it. Prints nothing when
# there is nothing to do. Exit 3: not possible.
#
#   jobs/setup.sh                 what building and running need
#   jobs/setup.sh --tests         and what the tests need; without nvcc also the CUDA headers, and ReFrame, into .deps
#   jobs/setup.sh --kokkos-cuda   and a Kokkos with CUDA, into .deps/cuda-kokkos; needs nvcc
#
#   Kokkos_ROOT, CMAKE_PREFIX_PATH   where to look for a Kokkos of your own
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(g++ cmake ninja-build git python3 python3-venv
  libopenmpi-dev openmpi-bin libhwloc-dev libhdf5-openmpi-dev libopenblas-dev libscalapack-openmpi-dev
  libcli11-dev libtomlplusplus-dev libfmt-dev nlohmann-json3-dev libgtest-dev)
tests=false
kokkos_cuda=false
for argument in "$@"; do
  case "$argument" in
    --tests) packages+=(python3-h5py zsh groff-base clang-format codespell shellcheck libboost-context-dev
      iproute2 procps debootstrap environment-modules chromium chromium-driver python3-selenium python3-argcomplete
      python3-jsonschema python3-lxml python3-pandas python3-requests python3-semver python3-yaml) && tests=true ;;
    --kokkos-cuda) kokkos_cuda=true ;;
    *) echo "usage: jobs/setup.sh [--tests] [--kokkos-cuda]" >&2 && exit 2 ;;
  esac
done

kokkos_version=4.7.0
# This package's source archive carries the unmodified Kokkos release under tpls/kokkos.
kokkos_carrier=pygenten==0.1.5
kokkos_sha256=e620f05c742905e2db705d875f1cac92ef0ed453f9e6734e9beda26cc0f9cce7

# NVIDIA's own packages, for x86-64 and for 64-bit ARM.
cuda_headers="nvidia-cuda-cccl==13.0.85 --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649 --hash=sha256:6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c
nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4 --hash=sha256:ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003
nvidia-cuda-runtime==13.0.88 --hash=sha256:422a38f7c739ecbdd3a4b6ec7ed0a1d74db43d8e9bc26685f3d845638922b178 --hash=sha256:8ba16a33998ee3ee2bf11c8f13e36e3ff86a1d6ad165ffeee863d6eabd0b5f67"
nvml_header="nvidia-nvml-dev==13.0.87 --hash=sha256:082871368275cf6620fc900f55d8eaf2563b263a38a00a5168e9650bce963ba1 --hash=sha256:f7aaa33d888da151c5902b39efdca16bc8a5535652075c2a02cd948a7a7100be"

# Both of pure Python; what they import is among the Debian packages.
reframe="reframe-hpc==4.5.2 --hash=sha256:60f0e15a4dd49140aaa438c96c767ae2ec0a0190fd182648e3bf7fae67b7ab60
archspec==0.2.2 --hash=sha256:1054b599abb66f4d141c7a278dd34beb5766b1c84c7595aab3907a5bf55ee258"

give_up() {
  echo "setup: $1" >&2
  exit 3
}

# Runs a command without its output, unless it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    give_up "failed: $*"
  fi
  rm -f "$log"
}

install_packages() {
  local missing=() package as_root=()
  for package in "${packages[@]}"; do
    # shellcheck disable=SC2016  # dpkg-query expands ${Status}
    [[ $(dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null) == *"ok installed"* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local install=(apt-get install -y --no-install-recommends "${missing[@]}")
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null ||
      give_up "these packages are missing, and installing them needs root; ask the administrator for
  apt-get update && ${install[*]}"
    as_root=(sudo -n)
  fi
  echo "setup: installing ${#missing[@]} Debian packages: ${missing[*]}"
  quietly "${as_root[@]}" apt-get -q update
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}"
}

# The version of the Kokkos installed under a prefix; empty where there is none.
kokkos_under() {
  cat "$1"/lib*/cmake/Kokkos/KokkosConfigVersion.cmake 2>/dev/null |
    sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' | head -n 1
}

have_kokkos() {
  local prefix version prefixes
  IFS=: read -ra prefixes <<<"${Kokkos_ROOT:-}:${CMAKE_PREFIX_PATH:-}:/usr/local:/usr"
  # The prefix .deps appears in one rename, so Kokkos' own version file is the mark of a complete one.
  [ "$(kokkos_under .deps)" != "$kokkos_version" ] || return 0
  for prefix in "${prefixes[@]}"; do
    version=$([ -z "$prefix" ] || kokkos_under "$prefix")
    [ -z "$version" ] || ! printf '%s\n' "$kokkos_version" "$version" | sort -V -C || return 0
  done
  return 1
}

# Fetches Kokkos into $work/source.
fetch_kokkos() {
  mkdir -p .cache
  work=$(mktemp -d "$PWD/.cache/kokkos.XXXXXX")  # beside .deps, so that the last step is a rename
  trap 'rm -rf "$work"' EXIT

  quietly python3 -m venv "$work/venv"
  quietly "$work/venv/bin/pip" install -q scikit-build-core==1.1.2  # pip asks it for the name of the archive
  echo "$kokkos_carrier --hash=sha256:$kokkos_sha256" >"$work/carrier.txt"
  quietly "$work/venv/bin/pip" download -q --require-hashes --no-deps --no-binary :all: \
    --no-build-isolation -d "$work" -r "$work/carrier.txt"
  mkdir "$work/source"
  tar -xzf "$work"/pygenten-*.tar.gz -C "$work/source" --strip-components=3 --wildcards '*/tpls/kokkos/*'
}

# build_kokkos PREFIX OPTION...: builds it for PREFIX and leaves it under $work/root$PREFIX.
build_kokkos() {
  local prefix=$1
  shift
  quietly cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_STANDARD=20 -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON -DCMAKE_INSTALL_PREFIX="$prefix" "$@"
  quietly cmake --build "$work/build"
  quietly env DESTDIR="$work/root" cmake --install "$work/build"
  [ "$(kokkos_under "$work/root$prefix")" = "$kokkos_version" ] ||
    give_up "the archive of $kokkos_carrier does not carry Kokkos $kokkos_version"
}

# nvcc's major version; 0 where there is none.
cuda_release() {
  local release
  release=$(PATH=$PATH:/usr/local/cuda/bin nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9]*\).*/\1/p')
  echo "${release:-0}"
}

install_kokkos() {
  echo "setup: building Kokkos $kokkos_version into .deps"
  fetch_kokkos
  build_kokkos "$PWD/.deps"
  [ ! -e .deps ] || mv .deps "$work/old"
  mv -T "$work/root$PWD/.deps" .deps
  rm -rf "$work"
}

# For GPU nodes: a program with this Kokkos does not start without a driver. The name does not begin
# with "kokkos", or CMake would find it wherever .deps has no other.
cuda_kokkos=.deps/cuda-kokkos

# Two functions take other arguments since CUDA 13, which Kokkos knows from 4.7.1 on; a source that
# does is left as it is.
mend_kokkos() {
  [ "$(cuda_release)" -ge 13 ] || return 0
  sed -i -e 's/cudaGraphAddDependencies(graph, from, to, numDependencies)/cudaGraphAddDependencies(graph, from, to, nullptr, numDependencies)/' \
    -e 's/cudaMemPrefetchAsync(devPtr, count, dstDevice, m_stream)/cudaMemPrefetchAsync(devPtr, count, cudaMemLocation{cudaMemLocationTypeDevice, dstDevice}, 0, m_stream)/' \
    "$work/source/core/src/Cuda/Kokkos_Cuda_Instance.hpp"
}

install_cuda_kokkos() {
  [ "$(cuda_release)" != 0 ] || give_up "a Kokkos with CUDA needs nvcc; install NVIDIA's CUDA toolkit"
  echo "setup: building Kokkos $kokkos_version with CUDA into $cuda_kokkos"
  fetch_kokkos
  mend_kokkos
  # CMake before 3.26 does not know that nvcc speaks C++20.
  PATH=$PATH:/usr/local/cuda/bin build_kokkos "$PWD/$cuda_kokkos" -DCMAKE_CUDA_FLAGS=-std=c++20 \
    -DKokkos_ENABLE_CUDA=ON -DKokkos_ARCH_HOPPER90=ON -DKokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE=ON
  mkdir -p .deps
  rm -rf "$cuda_kokkos"
  mv -T "$work/root$PWD/$cuda_kokkos" "$cuda_kokkos"
  rm -rf "$work"
}

have_cuda_headers() {
  command -v nvcc >/dev/null || [ -e /usr/local/cuda/include/cuda_fp16.h ] ||
    [ -e .deps/cuda-headers/cuda_fp16.h ]
}

# fetch_headers FOLDER HEADER PACKAGES: the headers of NVIDIA's packages, of which one is HEADER.
fetch_headers() {
  echo "setup: fetching $2 into $1"
  mkdir -p .cache .deps
  work=$(mktemp -d "$PWD/.cache/headers.XXXXXX")
  trap 'rm -rf "$work"' EXIT

  quietly python3 -m venv "$work/venv"
  echo "$3" >"$work/packages.txt"
  quietly "$work/venv/bin/pip" download -q --require-hashes --no-deps --only-binary :all: \
    -d "$work" -r "$work/packages.txt"
  for wheel in "$work"/*.whl; do quietly python3 -m zipfile -e "$wheel" "$work/all"; done
  [ -e "$work/all/nvidia/cu13/include/$2" ] || give_up "NVIDIA's packages lack $2"
  rm -rf "$1"
  mv -T "$work/all/nvidia/cu13/include" "$1"
  rm -rf "$work"
}

# The compiler's own folder of headers; where parts of a toolkit were installed, not every one is there.
have_nvml_header() {
  local nvcc
  [ "$(cuda_release)" != 0 ] || return 0
  nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)
  [ -e "$(dirname "$(readlink -f "$nvcc")")/../include/nvml.h" ] || [ -e /usr/include/nvml.h ] ||
    [ -e .deps/nvml/nvml.h ]
}

# Where centres run their checks from.
install_reframe() {
  echo "setup: fetching ReFrame into .deps"
  mkdir -p .cache .deps
  work=$(mktemp -d "$PWD/.cache/reframe.XXXXXX")
  trap 'rm -rf "$work"' EXIT

  quietly python3 -m venv "$work/venv"
  echo "$reframe" >"$work/reframe.txt"
  quietly "$work/venv/bin/pip" install -q --require-hashes --no-deps --only-binary :all: \
    --target "$work/all" -r "$work/reframe.txt"
  rm -rf .deps/reframe
  mv -T "$work/all" .deps/reframe
  rm -rf "$work"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages
else
  echo "setup: not a Debian system; CMake will look for what these Debian packages hold: ${packages[*]}"
fi
have_kokkos || install_kokkos
have_nvml_header || fetch_headers .deps/nvml nvml.h "$nvml_header"
# What g++ needs to compile kernels for the interpreter in kernels/simt.
[ "$tests" = false ] || have_cuda_headers || fetch_headers .deps/cuda-headers cuda_fp16.h "$cuda_headers"
[ "$tests" = false ] || [ -e .deps/reframe/bin/reframe ] || install_reframe
[ "$kokkos_cuda" = false ] || [ "$(kokkos_under "$cuda_kokkos")" = "$kokkos_version" ] || install_cuda_kokkos
