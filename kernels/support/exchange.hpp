// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/combine.hpp"
#include "core/types.hpp"
#include "device/views.hpp"

#include <cstddef>
#include <cstdint>

/// Exchanges between GPUs that have each other's memory open: each rank runs a kernel that writes into
/// its peers' memory and waits for what they write into its own. No stream and no host has to act in
/// between.
namespace quadrille::kernels::exchange {

inline constexpr int kMaxRanks = 8;
/// Messages, and steps of a lane, that a sender may be ahead of its receiver.
inline constexpr std::uint32_t kSlots = 4;
/// Packed messages have so many bytes in each cell, a store of twice as many.
inline constexpr std::size_t kCellBytes = 8;
/// What lanes move at once; parts of a message start at multiples of it.
inline constexpr std::size_t kGroupBytes = 16;

/// The same on all ranks of a channel.
struct Sizes {
  std::size_t packed_bytes = 0;  ///< of the longest packed message
  std::size_t step_bytes = 0;    ///< of a lane's slot, a multiple of kGroupBytes
  int lanes = 0;
};

/// What a rank holds for one peer, which alone writes it: words, each on a line of its own, and slots.
class Area {
 public:
  QUAD_HD Area(std::byte* start, Sizes const& sizes) : start_{start}, sizes_{sizes} {}
  QUAD_HD static std::size_t bytes(Sizes const& sizes) {
    return head_bytes(sizes) + kSlots * 2 * sizes.packed_bytes +
           static_cast<std::size_t>(sizes.lanes) * kSlots * sizes.step_bytes;
  }

  /// Number of packed messages of the holder that the peer has taken.
  QUAD_HD std::uint32_t* packed_taken() const { return word(0); }
  /// Steps of the peer that have arrived in a lane, and steps of the holder that the peer has taken.
  QUAD_HD std::uint32_t* arrived(int lane) const { return word(1 + lane); }
  QUAD_HD std::uint32_t* taken(int lane) const { return word(1 + sizes_.lanes + lane); }
  /// Cells of the peer's packed message: pairs of 8 bytes, each 4 of data below the message's number.
  QUAD_HD std::uint64_t* packed(std::uint32_t number) const {
    return reinterpret_cast<std::uint64_t*>(start_ + head_bytes(sizes_) +
                                            number % kSlots * 2 * sizes_.packed_bytes);
  }
  /// What the peer moves in a step of a lane.
  QUAD_HD std::byte* slot(int lane, std::uint32_t step) const {
    return start_ + head_bytes(sizes_) + kSlots * 2 * sizes_.packed_bytes +
           (static_cast<std::size_t>(lane) * kSlots + step % kSlots) * sizes_.step_bytes;
  }

 private:
  static constexpr std::size_t kLine = 128;
  QUAD_HD static std::size_t head_bytes(Sizes const& sizes) {
    return kLine * (1 + 2 * static_cast<std::size_t>(sizes.lanes));
  }
  QUAD_HD std::uint32_t* word(int i) const {
    return reinterpret_cast<std::uint32_t*>(start_ + kLine * static_cast<std::size_t>(i));
  }
  std::byte* start_;
  Sizes sizes_;
};

/// How a message is cut: step s of lane l has the bytes from (s lanes + l) part on.
struct Cut {
  std::size_t part;     ///< bytes of a step of a lane, a multiple of kGroupBytes
  std::uint32_t steps;  ///< of every lane, also where the last ones have nothing
};
/// Both sides of a message know its length, and so the same cut.
QUAD_HD inline Cut cut(std::size_t bytes, Sizes const& sizes) {
  auto const lanes = static_cast<std::size_t>(sizes.lanes);
  std::size_t const share = (bytes + lanes - 1) / lanes;
  std::size_t const whole = (share + kGroupBytes - 1) / kGroupBytes * kGroupBytes;
  std::size_t const part = whole < sizes.step_bytes ? whole : sizes.step_bytes;
  if (part == 0) return {0, 0};
  return {part, static_cast<std::uint32_t>((bytes + lanes * part - 1) / (lanes * part))};
}

/// What this rank and another one send each other. Empty pieces are no messages.
struct Peer {
  void const* send = nullptr;
  std::size_t send_bytes = 0;
  void* receive = nullptr;  ///< not where messages are combined
  std::size_t receive_bytes = 0;
  std::byte* here = nullptr;   ///< this rank's area for the peer
  std::byte* there = nullptr;  ///< the peer's for this rank
  /// Packed: the numbers of these messages. Lanes: steps before these.
  std::uint32_t sent = 0, received = 0;
  /// Packed: the message from the peer up to which all are taken; lanes say so themselves.
  std::uint32_t taken = 0;
  bool says_taken = false;    ///< the peer has not been told that
  bool awaits_taken = false;  ///< what the message is put in may still be read
};

/// A rank's part of an exchange. All ranks number their messages to each other alike, from 1 on, and run
/// their exchanges in the same order, each once the one before has ended on the rank.
struct Problem {
  Sizes sizes{};
  int ranks = 0, rank = 0;
  /// peers[rank] is what the rank has for itself, with no area for packed messages and one of its own
  /// where lanes combine.
  Peer peers[kMaxRanks]{};
  /// Where messages are combined, in the order of ranks, all of one length: the result.
  void* out = nullptr;
};

/// What a rank remembers of its messages with another one, or with itself, from one exchange to the
/// next. Pieces of a peer are set before its messages are numbered, once for each launch.
class Counters {
 public:
  void number_packed(Peer& peer);
  void number_lanes(Peer& peer, Sizes const& sizes);

 private:
  std::uint32_t sent_ = 0, received_ = 0;
  std::uint32_t said_ = 0;   ///< the last received that the peer was told of
  std::uint32_t known_ = 0;  ///< the last sent that the peer is known to have taken
  std::uint32_t steps_sent_ = 0, steps_received_ = 0;
};

/// Whether this program has the kernels.
bool is_built();
/// How messages travel: short ones packed, those of any length in lanes.
enum class By { packed, lanes };
/// Pieces go where they are sent.
void copy(By by, Problem const& problem, device::StreamView stream);
/// Pieces are combined where they arrive.
void combine(By by, Problem const& problem, core::DataType type, Combine op,
             device::StreamView stream);

// The same by name.
void launch_copy_packed(Problem const& problem, device::StreamView stream);
void launch_combine_packed(Problem const& problem, core::DataType type, Combine op,
                           device::StreamView stream);
void launch_copy_lanes(Problem const& problem, device::StreamView stream);
void launch_combine_lanes(Problem const& problem, core::DataType type, Combine op,
                          device::StreamView stream);

}  // namespace quadrille::kernels::exchange
