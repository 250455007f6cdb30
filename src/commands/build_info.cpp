// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "commands/build_info.hpp"

#include "comm/version.hpp"
#include "commands/build_config.hpp"
#include "commands/commit.hpp"
#include "device/driver.hpp"
#include "device/host/topology.hpp"
#include "device/kokkos_runtime.hpp"
#include "io/version.hpp"
#include "vendor/blas.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cctype>

extern char** environ;

namespace quadrille::commands {

std::string version() { return fmt::format("{} (commit {})", QUADRILLE_VERSION, QUADRILLE_COMMIT); }

namespace {

/// "Linux 6.1.0-18-amd64"
std::string system_version() {
  utsname name{};
  return uname(&name) < 0 ? "unknown" : fmt::format("{} {}", name.sysname, name.release);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> build_facts() {
  return {{"version", QUADRILLE_VERSION},
          {"commit", QUADRILLE_COMMIT},
          {"compiler", QUADRILLE_COMPILER},
          {"build_type", QUADRILLE_BUILD_TYPE},
          {"host_arch", QUADRILLE_HOST_ARCH},
          {"mpi", comm::mpi_library_version()},
          {"kokkos", fmt::format("{}, {}", device::kokkos_version(), QUADRILLE_KOKKOS)},
          {"hdf5", fmt::format("{} (built: {})", io::hdf5_version(), QUADRILLE_HDF5)},
          {"blas", kernels::blas::library()},
          {"cuda", QUADRILLE_CUDA},
          {"driver", device::driver_version()},
          {"cpu", device::cpu_name()},
          {"network", device::network_cards()},
          {"os", system_version()}};
}

std::vector<std::pair<std::string, std::string>> environment_facts() {
  constexpr std::array<std::string_view, 8> kAllowed{"CUDA_",  "NCCL_", "UCX_",    "OMPI_",
                                                     "SLURM_", "OMP_",  "KOKKOS_", "HDF5_"};
  // SLURM_JWT is a token too.
  constexpr std::array<std::string_view, 7> kSecret{"TOKEN", "KEY",  "SECRET",    "PASS",
                                                    "JWT",   "AUTH", "CREDENTIAL"};
  std::vector<std::pair<std::string, std::string>> facts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const text{*entry};
    std::string_view const name = text.substr(0, text.find('='));
    bool const allowed =
        std::any_of(kAllowed.begin(), kAllowed.end(),
                    [&](std::string_view prefix) { return name.starts_with(prefix); });
    std::string upper{name};
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
    bool const secret = std::any_of(kSecret.begin(), kSecret.end(), [&](std::string_view word) {
      return upper.find(word) != std::string::npos;
    });
    if (!allowed || secret || name.size() == text.size()) continue;
    facts.emplace_back(name, text.substr(name.size() + 1));
  }
  std::sort(facts.begin(), facts.end());
  return facts;
}

}  // namespace quadrille::commands
