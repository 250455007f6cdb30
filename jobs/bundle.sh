#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# Packs the program with Open MPI, HDF5 and all other libraries it needs into one archive that runs
# from any folder of a machine with nothing but a C library (for GPUs: a driver, for the vendor
# lines CUDA). Build with -DQUADRILLE_HOST_ARCH=x86-64-v3 for CPUs other than this one's.
#
#   jobs/bundle.sh [--tests] [BINARY [ARCHIVE]]     default: build/quadrille quadrille-bundle.tar.gz
#
# On the other machine:
#
#   tar xf quadrille-bundle.tar.gz && quadrille/run.sh -n 2 run quadrille/inputs/quickstart.toml
#
# With --tests also the tests that need a GPU, which it builds in the program's folder; there
# quadrille/gpu_tests.sh runs them, and with --inputs the inputs.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
with_tests=false
if [ "${1:-}" = --tests ]; then with_tests=true && shift; fi
binary=${1:-$home/build/quadrille}
archive=${2:-quadrille-bundle.tar.gz}
[ -x "$binary" ] || { echo "bundle: no program $binary; build it first" >&2 && exit 2; }
command -v ompi_info >/dev/null || { echo "bundle: only Open MPI can be bundled, and ompi_info is missing" >&2 && exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/quadrille
mkdir -p "$root"/{bin,lib,lib/gcc,lib/openmpi,lib/pmix,share,etc}

# Where Open MPI keeps something: "path:pkglibdir:/usr/lib/openmpi" gives the last part.
mpi_path() { ompi_info --path "$1" --parsable | cut -d: -f3; }

cp -L "$binary" "$root/bin/quadrille"
cp -L "$(mpi_path bindir)/mpirun" "$root/bin/mpirun"
cp -L "$(mpi_path bindir)/orted" "$root/bin/orted"
cp -L "$(mpi_path pkglibdir)"/*.so "$root/lib/openmpi/"
cp -rL "$(mpi_path pkgdatadir)" "$root/share/openmpi"
cp -rL "$(mpi_path sysconfdir)" "$root/etc/openmpi"
cp -r "$home/inputs" "$home/LICENSE" "$root/"
if $with_tests; then
  cmake --build "$(dirname "$binary")" --target quadrille_gpu_tests
  mkdir "$root/bin/tests"
  cp -L "$(dirname "$binary")"/tests/{*_gpu,device_cuda_device_test,comm_transport_test,vendor_audit_test,workloads_best_test} "$root/bin/tests/"
fi

# PMIx and UCX open modules at run time, from a folder beside the library.
pmix=$(ldd "$root"/lib/openmpi/mca_pmix_*.so | awk '/libpmix/ {print $3; exit}')
if [ -n "$pmix" ]; then
  cp -L "$(dirname "$(readlink -f "$pmix")")"/pmix/*.so "$root/lib/pmix/" 2>/dev/null || true
fi
libraries=$(dirname "$(ldd "$root/bin/quadrille" | awk '/libmpi\.so/ {print $3; exit}')")
[ ! -d "$libraries/ucx" ] || cp -rL "$libraries/ucx" "$root/lib/ucx"

# Everything that these link to, except what belongs to a system: the C library, the driver, and
# CUDA's libraries, which are large and opened only for the vendor lines.
system='/(ld-linux[^/]*|libc|libm|libdl|libpthread|librt|libresolv|libutil|libcuda|libcudart|libcublas[^/]*|libnccl|libnvidia[^/]*)\.so'
# The compiler's libraries are used only where the system's are older.
compiler='/(libstdc\+\+|libgcc_s|libgomp|libgfortran|libquadmath)\.so'
find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) -print0 |
  xargs -0 -n 1 ldd 2>/dev/null | awk '/=> \// {print $3}' | sort -u |
  { grep -vE "$system" || true; } |
  while read -r library; do
    if [[ $library =~ $compiler ]]; then
      cp -L "$library" "$root/lib/gcc/"
    else
      cp -L "$library" "$root/lib/"
    fi
  done
find "$root" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec strip --strip-debug {} + 2>/dev/null || true

cat >"$root/run.sh" <<'END'
#!/usr/bin/env bash
# Starts the program of this bundle: run.sh [-n RANKS] [mpirun options --] COMMAND...
# With -n 0 the program starts without mpirun, as under srun. PROGRAM in the environment names
# another program of the bundle than bin/quadrille.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ranks=1
if [ "${1:-}" = -n ]; then ranks=$2 && shift 2; fi
options=()
for argument in "$@"; do
  if [ "$argument" = -- ]; then
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    break
  fi
done

# This bundle's libraries come first: half of a site's own Open MPI would not fit its other half.
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$here/bin/quadrille" --version >/dev/null 2>&1 || export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$here/lib/gcc
export PATH=$here/bin:$PATH
export OPAL_PREFIX=$here OPAL_BINDIR=$here/bin OPAL_LIBDIR=$here/lib OPAL_PKGLIBDIR=$here/lib/openmpi
export OPAL_DATADIR=$here/share OPAL_PKGDATADIR=$here/share/openmpi OPAL_SYSCONFDIR=$here/etc/openmpi
export PMIX_PREFIX=$here PMIX_LIBDIR=$here/lib PMIX_PKGLIBDIR=$here/lib/pmix PMIX_SYSCONFDIR=$here/etc/openmpi
# hwloc must not open plugins that the system has for another version of it.
export HWLOC_PLUGINS_PATH=$here/lib/none UCX_MODULE_DIR=$here/lib/ucx
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
# Without a remote shell Open MPI refuses to start even local ranks.
command -v ssh >/dev/null || command -v rsh >/dev/null || export OMPI_MCA_plm=isolated
program=$here/${PROGRAM:-bin/quadrille}
[ "$ranks" != 0 ] || exec "$program" "$@"
exec "$here/bin/mpirun" --oversubscribe --bind-to none ${options[@]+"${options[@]}"} -n "$ranks" \
  "$program" "$@"
END
chmod +x "$root/run.sh"

if $with_tests; then
  cat >"$root/gpu_tests.sh" <<'END'
#!/usr/bin/env bash
# Runs the tests that need GPUs: gpu_tests.sh [NAME...]; a line for each, logs in the folder that
# LOGS names (default: gpu-tests). gpu_tests.sh --inputs runs all inputs that are for the devices here,
# but those that have passed already. CHECKER in the environment stands before each kernel test, for
# example "compute-sanitizer --target-processes all --tool memcheck".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=${LOGS:-gpu-tests}
mkdir -p "$logs"
if [ "${1:-}" = --inputs ]; then
  start() { "$here/run.sh" -n "$@"; }
  # shellcheck source=tests/run_inputs.sh
  source "$here/run_inputs.sh"
  run_inputs "$here/bin/quadrille" "$logs/inputs"
  exit
fi
gpus=$(nvidia-smi -L 2>/dev/null | grep -c GPU)
failed=0
# one NAME COMMAND...
one() {
  local name=$1 start=$SECONDS code=0
  shift
  "$@" >"$logs/$name.log" 2>&1 || code=$?
  local outcome=passed
  if [ $code = 77 ]; then outcome=skipped; elif [ $code != 0 ]; then outcome="FAILED ($code)" && failed=1; fi
  printf '%-40s %-14s %4s s\n' "$name" "$outcome" $((SECONDS - start))
  if [ "$outcome" = "FAILED ($code)" ]; then grep -E "FAILED|Failure|FATAL|ERROR SUMMARY" "$logs/$name.log" | head -n 5; fi
}
for test in "$here"/bin/tests/*; do
  name=$(basename "$test")
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  if [[ $name == comm_transport_test || $name == vendor_audit_test || $name == workloads_best_test ]]; then
    for ranks in 1 2 4; do
      [ $ranks -gt "$gpus" ] || QUADRILLE_TEST_DEVICE=cuda PROGRAM=bin/tests/$name \
        one "$name.np$ranks" "$here/run.sh" -n $ranks -x QUADRILLE_TEST_DEVICE --
    done
  else
    # shellcheck disable=SC2086  # a checker has options
    PROGRAM=bin/tests/$name one "$name" ${CHECKER:-} "$here/run.sh" -n 0
  fi
done
exit $failed
END
  chmod +x "$root/gpu_tests.sh"
  cp "$home/tests/run_inputs.sh" "$root/"
fi

tar -C "$work" -caf "$archive" quadrille  # compressed as the name says
# With a Kokkos that has CUDA it starts only where there is a driver.
version=$("$binary" --version 2>/dev/null || echo "no version: the program does not start here")
echo "bundle: $archive, $(du -h "$archive" | cut -f1), $version"
if grep -q '^QUADRILLE_HOST_ARCH:.*=native$' "$(dirname "$binary")/CMakeCache.txt" 2>/dev/null; then
  echo "bundle: it starts on CPUs with all instructions of this one; for others build with -DQUADRILLE_HOST_ARCH=x86-64-v3"
fi
