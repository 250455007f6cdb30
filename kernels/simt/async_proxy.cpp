// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/async_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace quadrille::simt::async_proxy {
namespace {

/// Shared memory as the asynchronous proxy sees it.
struct View {
  std::vector<unsigned char> bytes;
  bool fenced = false;  ///< since the bytes were brought up to date
};

View& state() {
  static char const key = 0;
  return block_state<View>(&key);
}

/// From the byte at `offset`, brought up to date.
unsigned char* view(std::size_t offset) {
  View& view = state();
  Block const& block = *current->block;
  view.bytes.resize(std::max(block.used, view.bytes.size()), 0xFF);
  if (view.fenced) std::memcpy(view.bytes.data(), block.arena, view.bytes.size());
  view.fenced = false;
  return view.bytes.data() + offset;
}

}  // namespace

// The copy is put off to the next use, so that a fence of every thread costs little. What is stored
// between fence and use is then not seen as missing.
void fence() { state().fenced = true; }

void wrote(void const* shared, std::size_t bytes) {
  std::memcpy(view(shared_offset(shared)), shared, bytes);
}

void reads(void const* shared, std::size_t bytes, char const* what, Place place) {
  if (std::memcmp(view(shared_offset(shared, place)), shared, bytes) != 0) {
    fail(fmt::format("{}: reads what ordinary stores wrote to shared memory without a "
                     "fence_proxy_async() since",
                     what),
         place);
  }
}

}  // namespace quadrille::simt::async_proxy
