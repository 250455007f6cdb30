// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/transport.hpp"

#include <cstddef>
#include <memory>

namespace quadrille::comm {

/// Faults of messages, made on purpose to prove that checks can fail.
enum class MessageFault {
  none,
  /// The last chunk that arrives from another rank does not: its place stays as it was.
  drop_message,
  /// What arrives is another rank's: a broadcast has the next rank as root and the true root keeps
  /// its data, a reduction gives the next rank's contribution alone, gathered pieces land in their
  /// neighbours' places, sendrecv gets its own data back, and accesses to a window, and reads of it,
  /// are made to that of the rank behind.
  wrong_rank,
  /// The wait for an exchange is over before its data are there: each place that another rank's
  /// data arrive in has them once the next exchange into it is over, and until then what it held
  /// before. A window is read as it was at the exchange before, and what is
  /// written there never arrives.
  misplaced_wait,
};

/// `real`, all of whose exchanges have the fault. It is made of exchanges of the real transport and
/// of copies on a stream beside it, and keeps the promises of Channel, but that the host may wait
/// for earlier exchanges when one is larger than all before it. Groups of one rank have no messages
/// and stay as they are.
std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> real, MessageFault fault,
                                       device::Device& device, std::size_t chunk_bytes);

}  // namespace quadrille::comm
