// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

namespace quadrille::device {

/// Bytes of memory in this machine, in the tightest control group around the process, or of what the
/// process may map (ulimit -v), whichever is less. `root` is "/" outside tests.
std::size_t total_host_memory(std::filesystem::path const& root = "/");

/// Bytes that this process can still take: what the kernel calls available, what the tightest control
/// group around the process leaves, or what it may still map, whichever is less.
std::size_t available_host_memory(std::filesystem::path const& root = "/");

/// Bytes of memory this process has touched.
std::size_t resident_host_memory();

/// Gives memory that was freed back to the system, where the C library keeps it in pieces.
void trim_host_memory();

}  // namespace quadrille::device
