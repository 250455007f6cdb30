// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/group_memory.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <string>

namespace quadrille::comm {
namespace {

template <class T>
T given(core::Parsed<T> const& result) {
  if (!result) core::fail(fmt::format("shared memory: {}", result.why()));
  return *result;
}

}  // namespace

GroupMemory::GroupMemory(device::Device& device, Group const& group, std::size_t bytes,
                         unsigned char value, device::StreamView stream)
    : group_{group},
      own_{device, given(device.allocate_shared(bytes))},
      peers_(index(group.size())) {
  stream.fill(own_.data(), value, bytes);
  stream.synchronize();
  std::vector<std::string> const handles = group.all_gather(given(device.handle_of(own_.data())));
  for (int r = 0; r < group.size(); ++r) {
    if (r == group.rank()) continue;
    peers_[index(r)] = {device, given(device.open_shared(handles[index(r)]))};
  }
  // A peer that ends early takes its memory with it: nobody goes on, and may fail, before all have opened it.
  group_.barrier();
}

GroupMemory::~GroupMemory() {
  // Nobody closes what a peer still uses, nor ends what a peer has open.
  group_.barrier();
  peers_.clear();
  group_.barrier();
}

}  // namespace quadrille::comm
