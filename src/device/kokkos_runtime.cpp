// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/kokkos_runtime.hpp"

#include "device/device.hpp"
#include "device/openmp_environment.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <omp.h>
#include <thread>

namespace quadrille::device {
namespace {

// A thread of GNU OpenMP spins for about 10 ms after a kernel before it sleeps, and takes that time
// from the other stream, the progress thread and the other ranks of the node. Its environment
// variables come too late here: they are read when the library is loaded. But it spins only for
// some 0.1 ms while the process has more OpenMP threads than cores. So the main thread, which runs
// no kernels, keeps a sleeping team that makes up the number with the first stream's threads. The
// price is some 10 us per launch.
void shorten_idle_spinning(int threads) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  int const team = std::max(1, omp_get_num_procs() + 2 - threads);
  std::atomic<int> started{0};
#pragma omp parallel num_threads(team)
  ++started;  // an empty region would be left out by the compiler
}

// A kernel with fewer threads than it asks for leaves parts of its result unwritten.
void require_threads(int threads) {
  int started = 0;
  // As a stream's worker starts them: OpenMP keeps some of its settings for each thread.
  std::thread{[&] {
#pragma omp parallel num_threads(threads)
#pragma omp single
    started = omp_get_num_threads();
  }}.join();
  bool const is_bound = omp_get_proc_bind() != omp_proc_bind_false;
  if (started == threads && !is_bound) return;
  std::string const problem = is_bound ? "binds threads"
                                       : "starts " + std::to_string(started) + " of " +
                                             std::to_string(threads) + " threads";
  core::fail("OpenMP " + problem +
                 "; unset its variables (env | grep -E '^(OMP|GOMP|KMP)_') but OMP_NUM_THREADS",
             core::Exit::environment);
}

}  // namespace

KokkosRuntime::KokkosRuntime(int threads, [[maybe_unused]] std::optional<int> gpu) {
  require_threads(threads);
  // Kokkos counts the default number of threads by starting them.
  omp_set_num_threads(threads);
  // What the settings below decide; Kokkos would abort where one of them has a value it does not like.
  for (char const* const name : {"KOKKOS_NUM_THREADS", "KOKKOS_DEVICE_ID",
                                 "KOKKOS_DISABLE_WARNINGS", "KOKKOS_PRINT_CONFIGURATION"}) {
    unsetenv(name);
  }
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(threads).set_disable_warnings(true).set_print_configuration(false);
#ifdef KOKKOS_ENABLE_CUDA
  // Kokkos itself would abort, and only this rank.
  std::string why;
  if (cuda_device_count(&why) == 0) {
    core::fail("no GPU: " + why +
                   ", and the Kokkos of this program has CUDA and starts on one; use a "
                   "program built with Kokkos for the host alone",
               core::Exit::environment);
  }
  if (gpu) settings.set_device_id(*gpu);
#endif
  Kokkos::initialize(settings);
  if (threads > 1) shorten_idle_spinning(threads);
}

KokkosRuntime::~KokkosRuntime() { Kokkos::finalize(); }

std::string kokkos_version() {
#ifdef KOKKOS_ENABLE_CUDA
  std::string const device = "CUDA, ";
#else
  std::string const device;
#endif
  auto const text = [](int number) { return std::to_string(number); };
  return text(KOKKOS_VERSION_MAJOR) + "." + text(KOKKOS_VERSION_MINOR) + "." +
         text(KOKKOS_VERSION_PATCH) + ", " + device + Kokkos::DefaultHostExecutionSpace::name();
}

}  // namespace quadrille::device
