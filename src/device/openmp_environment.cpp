// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/openmp_environment.hpp"

#include <cstddef>
#include <iterator>

namespace quadrille::device {
namespace {

// Limits of threads, sizes of stacks that there may be no memory for, and binding: it pins the main
// thread, and with it every thread that it starts, to one place. This program gives each stream its own
// team of threads on all CPUs of the rank.
constexpr char const* kHarmful[] = {
    "OMP_DYNAMIC=",   "OMP_MAX_ACTIVE_LEVELS=", "OMP_NESTED=",   "OMP_PLACES=",
    "OMP_PROC_BIND=", "OMP_THREAD_LIMIT=",      "KMP_AFFINITY=", "GOMP_CPU_AFFINITY=",
    "OMP_STACKSIZE=", "GOMP_STACKSIZE=",        "KMP_STACKSIZE="};

char const* removed[std::size(kHarmful)];
std::size_t removed_count = 0;

/// Whether `entry` begins with `start`.
__attribute__((no_sanitize("address", "undefined"))) bool begins(char const* entry,
                                                                 char const* start) {
  while (*start != 0 && *entry == *start) ++entry, ++start;
  return *start == 0;
}

/// Nothing of the C library is ready here.
__attribute__((no_sanitize("address", "undefined"))) void remove_variables(int, char**,
                                                                           char** environment) {
  char** kept = environment;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    bool is_harmful = false;
    for (char const* const start : kHarmful) is_harmful = is_harmful || begins(*entry, start);
    if (!is_harmful || begins(*entry, "OMP_PROC_BIND=false")) {
      *kept++ = *entry;
    } else if (removed_count < std::size(removed)) {
      removed[removed_count++] = *entry;
    }
  }
  *kept = nullptr;
}

// GNU OpenMP reads its variables when it is loaded, before main() and all constructors of this program.
// What stands in this section runs before that.
__attribute__((section(".preinit_array"),
               used)) void (*const before_libraries)(int, char**, char**) = remove_variables;

}  // namespace

std::span<char const* const> removed_openmp_variables() { return {removed, removed_count}; }

}  // namespace quadrille::device
