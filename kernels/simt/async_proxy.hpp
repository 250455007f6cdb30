// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simt/engine.hpp"

/// The asynchronous proxy, through which bulk copies and wgmma access shared memory: it sees what
/// ordinary stores wrote only after a fence.
namespace quadrille::simt::async_proxy {

void fence();
/// The proxy wrote these bytes itself.
void wrote(void const* shared, std::size_t bytes);
/// The proxy reads these bytes: it is an error if they are not as it sees them.
void reads(void const* shared, std::size_t bytes, char const* what, Place place);

}  // namespace quadrille::simt::async_proxy
