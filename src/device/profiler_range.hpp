// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace quadrille::device {

/// What the calling thread does while this lives, as a range of NVTX's domain "quadrille": Nsight Systems
/// and Nsight Compute show and filter by it. Ranges nest: run, case, variant, repetition. Without a
/// profiler it costs nothing, and does nothing where the program was built without NVTX's header.
class ProfilerRange {
 public:
  explicit ProfilerRange(std::string const& name);
  ~ProfilerRange();
  ProfilerRange(ProfilerRange const&) = delete;
  ProfilerRange& operator=(ProfilerRange const&) = delete;
};

}  // namespace quadrille::device
