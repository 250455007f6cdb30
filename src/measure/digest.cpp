// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/digest.hpp"

#include "support/generate.hpp"

namespace quadrille::measure {

OutputDigest::OutputDigest(comm::World const& world)
    : world_{world}, sum_{world.device(), 1, world.stream()} {
  // The buffer fills itself on the stream; where nothing runs it would be freed before that.
  world.stream().synchronize();
}

std::uint64_t OutputDigest::of(Workload& workload) const {
  device::StreamView const stream = world_.stream();
  std::uint64_t whole = 0;
  for (Field const& field : workload.fields()) {
    bool const is_reached = !field.is_pageable || world_.device().kind() == device::Kind::host;
    if (!field.is_output || !is_reached) continue;
    std::uint64_t sum = 0;
    stream.fill(sum_.data(), 0, sum_.bytes());
    kernels::generate::digest(field.view, sum_.data(), stream);
    stream.copy(&sum, sum_.data(), sizeof(sum));
    stream.synchronize();
    whole = core::mix(whole + 1) + sum;  // outputs have an order
  }
  return whole;
}

}  // namespace quadrille::measure
