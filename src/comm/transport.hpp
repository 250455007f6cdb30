// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/group.hpp"
#include "core/types.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::comm {

enum class ReduceOp { sum, min, max };
constexpr auto enum_names(ReduceOp) {
  return core::EnumNames<ReduceOp, 3>{
      {{ReduceOp::sum, "sum"}, {ReduceOp::min, "min"}, {ReduceOp::max, "max"}}};
}
/// How a broadcast travels: the library's own algorithm, or a chunked ring of neighbours.
enum class Broadcast { library, ring };
constexpr auto enum_names(Broadcast) {
  return core::EnumNames<Broadcast, 2>{
      {{Broadcast::library, "library"}, {Broadcast::ring, "ring"}}};
}

/// A contiguous run of device memory.
struct Piece {
  void* data = nullptr;
  std::size_t bytes = 0;
};
struct ConstPiece {
  void const* data = nullptr;
  std::size_t bytes = 0;
};

/// One exchange under way. Valid until 64 later exchanges were started on its channel.
class Request {
 public:
  Request() = default;
  explicit Request(device::Event const* finished) : finished_{finished} {}
  /// Makes later work of `stream` start after the exchange. Never blocks the host. This alone
  /// orders work after the exchange; an empty request waits for nothing.
  void wait_on(device::StreamView stream) const {
    if (finished_ != nullptr) stream.wait(*finished_);
  }

 private:
  device::Event const* finished_ = nullptr;
};

/// A group of ranks connected by one transport. Collectives start after all earlier work of
/// `after`, return at once, and read or write device memory until their request is waited on.
/// Exchanges of a channel travel in the order of the calls but overlap: one that reads what an
/// earlier one wrote must wait on its request first. Every rank of the group makes the same calls
/// in the same order.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// With a throttled link the algorithm is always the ring, whose messages the model can charge.
  virtual Request broadcast(Piece data, int root, device::StreamView after,
                            Broadcast algorithm = Broadcast::library) = 0;
  /// `out` may be `in`. Types f64, f32, i64, i32. min and max keep a NaN.
  virtual Request allreduce(ConstPiece in, Piece out, core::DataType type, ReduceOp op,
                            device::StreamView after) = 0;
  /// parts[r] is this rank's contribution to rank r; `out` gets the reduction of all parts[rank()].
  virtual Request reduce_scatter(std::span<ConstPiece const> parts, Piece out, core::DataType type,
                                 ReduceOp op, device::StreamView after) = 0;
  /// all[r] gets rank r's piece; sizes may differ by rank and be 0.
  virtual Request allgather(ConstPiece mine, std::span<Piece const> all,
                            device::StreamView after) = 0;
  /// send[r] goes to rank r, receive[r] comes from rank r; receive sizes match the senders'.
  virtual Request alltoallv(std::span<ConstPiece const> send, std::span<Piece const> receive,
                            device::StreamView after) = 0;
  /// A rank of -1 means no message that way.
  virtual Request sendrecv(ConstPiece send, int to, Piece receive, int from,
                           device::StreamView after) = 0;
};

struct TransportOptions {
  std::size_t chunk_bytes = 256UL << 20;  ///< largest single message
  double throttle = 0;                    ///< bytes/s of the modelled link; 0: none
  bool always_stage = false;  ///< stage even where MPI reaches device memory, as tests do
};

/// A way to move data between ranks. Outlives its channels.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Connects the ranks of a group. Collective over the group.
  virtual std::unique_ptr<Channel> connect(Group const& group) = 0;
};

class World;

/// A row of the table of transports: what is known of one before it is made. Each transport defines
/// its own beside its code.
struct TransportEntry {
  std::string_view name;
  std::string_view summary;
  bool is_selectable = false;  ///< a case may ask for it: transport = "name"
  bool moves_host = false;     ///< memory of host devices
  bool moves_gpu = false;      ///< memory of GPUs
  bool models_link = false;    ///< knows TransportOptions::throttle
  int preference = 0;          ///< "auto" takes the highest of those that can serve the world
  /// Why it cannot serve the ranks of this world, or, without a world, why it cannot exist in this
  /// process; empty where it can.
  std::string (*unavailable_reason)(World const* world) = [](World const*) {
    return std::string{};
  };
  /// Called by make_transport() alone, which checks first. Collective. Null where it is not built.
  std::unique_ptr<Transport> (*make)(device::Device& device,
                                     TransportOptions const& options) = nullptr;

  bool moves(device::Kind kind) const {
    return kind == device::Kind::host ? moves_host : moves_gpu;
  }
};

/// All transports, in reading order.
std::span<TransportEntry const* const> transports();
/// What a case may ask for by name. "auto" is no transport.
std::vector<std::string_view> selectable_transports();
/// Ends the job where no transport has the name, where it is unavailable or cannot do what is asked
/// for. Collective.
std::unique_ptr<Transport> make_transport(std::string_view name, World const& world,
                                          TransportOptions const& options);

}  // namespace quadrille::comm
