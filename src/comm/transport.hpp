// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/channel.hpp"
#include "comm/group.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::comm {

struct TransportOptions {
  std::size_t chunk_bytes = 256UL << 20;  ///< largest single message
  double throttle = 0;                    ///< bytes/s of the modelled link; 0: none
  bool always_stage = false;  ///< stage even where device memory can be reached, as tests do
  int max_ctas = 0;  ///< thread blocks of a GPU that an exchange takes at most; 0: its choice
};

/// Where the exchanges of a channel run.
enum class Order {
  own_streams,       ///< on the transport's streams, beside later work of the caller's
  on_caller_stream,  ///< on the stream that they start after, which saves the hops there and back
};

/// A way to move data between ranks. Outlives its channels.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Connects the ranks of a group. Collective over the group. Without
  /// TransportEntry::runs_on_caller_stream the order is as the transport has it.
  std::unique_ptr<Channel> connect(Group const& group, Order order = Order::own_streams) {
    return do_connect(group, order);
  }

 private:
  virtual std::unique_ptr<Channel> do_connect(Group const& group, Order order) = 0;
};

class Machine;
class World;

/// A row of the table of transports: what is known of one before it is made. Each transport defines
/// its own beside its code.
struct TransportEntry {
  std::string_view name;
  std::string_view summary;
  bool is_selectable = false;          ///< a case may ask for it: transport = "name"
  bool moves_host = false;             ///< memory of host devices
  bool moves_gpu = false;              ///< memory of GPUs
  bool models_link = false;            ///< knows TransportOptions::throttle
  bool limits_ctas = false;            ///< knows TransportOptions::max_ctas
  bool uses_kernels = false;           ///< to move messages of GPUs, which take multiprocessors
  bool shares_windows = false;         ///< its channels have share() and access()
  bool runs_on_caller_stream = false;  ///< knows Order::on_caller_stream, for memory of GPUs
  bool is_host_driven = false;         ///< a thread of the host may wait for a GPU in an exchange
  bool drops_nan = false;              ///< against Channel's rule, in minimum and maximum
  std::size_t device_bytes = 0;        ///< of a GPU's memory that a channel takes at most
  int preference = 0;  ///< "auto" takes the highest of those that can serve the world where
                       ///< none is clearly faster, or nothing is measured
  /// What keeps it from serving these ranks, found by trying: the same text on all, empty where it
  /// works. Collective; World::trial_problem() calls it once.
  std::string (*trial)(World const& world) = nullptr;
  /// Why it cannot serve the ranks of this machine, or, without one, why it cannot exist in this
  /// process; empty where it can.
  std::string (*unavailable_reason)(Machine const* machine) = [](Machine const*) {
    return std::string{};
  };
  /// Called by make_transport() alone, which checks first. Collective. Null where it is not built.
  std::unique_ptr<Transport> (*make)(World const& world, TransportOptions const& options) = nullptr;

  bool moves(device::Kind kind) const {
    return kind == device::Kind::host ? moves_host : moves_gpu;
  }
  /// Why it cannot serve a case of this machine that may have a modelled link; empty where it can.
  std::string unsupported_reason(Machine const& machine, double throttle) const;
  /// Whether a case of this machine, which may have a modelled link, may ask for it.
  bool serves(Machine const& machine, double throttle = 0) const;
};

/// All transports, in reading order.
std::span<TransportEntry const* const> transports();
/// What a case may ask for by name. "auto" is no transport.
std::vector<std::string_view> selectable_transports();
/// Why a transport cannot be made, and how a run that asks for it ends.
struct Unsupported {
  std::string why;  ///< with what to change; empty where nothing is in the way
  core::Exit code = core::Exit::pass;
};
/// Collective. Ends the job where no transport has the name.
Unsupported unsupported(std::string_view name, Machine const& machine, double throttle);
/// Ends the job where unsupported() has a reason. Collective.
std::unique_ptr<Transport> make_transport(std::string_view name, World const& world,
                                          TransportOptions const& options);

}  // namespace quadrille::comm
