// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/faulty_channel.hpp"
#include "comm/group.hpp"
#include "comm/machine.hpp"
#include "comm/transport.hpp"
#include "core/config.hpp"
#include "device/device.hpp"
#include "device/kokkos_runtime.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::comm {

/// What the launcher said before MPI was started; -1 where it said nothing.
struct LauncherFacts {
  std::string name;  ///< "Open MPI", "Slurm", "MPICH", "PALS", "PMIx", or "" for none
  int rank = -1;
  int size = -1;
  int local_rank = -1;
};
/// Reads environment variables only; callable before MPI_Init.
LauncherFacts read_launcher();

/// MPI, device, Kokkos, streams and transports of this rank, in the order of life. One per process.
/// The constructor starts MPI (THREAD_MULTIPLE) and maps nodes, all under a limit; open() chooses the
/// device and starts the rest. Collective, both, and so is the destructor.
class World final : public Machine {
 public:
  World(int& argc, char**& argv, double start_limit_s = core::Timeouts{}.init_s);
  ~World() override;

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  Group const& group() const { return group_; }
  int nodes() const override { return nodes_; }
  std::vector<int> planned_ranks() const override { return {rank()}; }
  /// The ranks of this node; with settings.fake_nodes those of one part of it, which then counts as a
  /// node for all but the choice of devices. From open() on.
  Group const& node_group() const { return node_group_; }
  /// A number of this node.
  int node() const { return node_; }
  LauncherFacts const& launcher() const { return launcher_; }

  /// Why this rank is alone although its launcher started more; empty where it is not. Not
  /// collective, and nothing can be.
  std::string singleton_error() const;
  /// Ends the job where there is such a problem; one of the launcher's tasks says it.
  void require_launcher() const;
  /// Chooses what each rank drives. Why they cannot all have a device, the same on every rank; empty
  /// where they can. Collective.
  std::string choose_devices(core::RunSettings const& settings);
  /// Chooses devices, or ends the job, and opens them. Collective.
  void open(core::RunSettings const& settings);

  device::Device& device() const override { return *device_; }
  double free_host_memory() const override;
  bool is_here() const override { return true; }
  using Machine::min;
  void min(std::span<double> values) const override { group_.min(values); }
  void broadcast(std::string& text, int root = 0) const override { group_.broadcast(text, root); }
  /// The stream that kernels run on, and that ends every repetition.
  device::StreamView stream() const { return compute_.view(); }
  /// The stream that packs and starts exchanges; high priority.
  device::StreamView comm_stream() const { return communicate_.view(); }
  /// That of transport_entry(). With a throttle (bytes/s) all its messages share one modelled link per
  /// rank; max_ctas is that of TransportOptions. Made at first use; collective.
  Transport& transport(std::string_view name, double throttle = 0, std::int64_t max_ctas = 0);
  /// What the case asks for.
  Transport& transport(core::Case const& spec) {
    return transport(spec.transport, spec.throttle, spec.nccl_ctas);
  }
  /// From now on transport() gives transports with this fault. The same on every rank.
  void inject(MessageFault fault) { fault_ = fault; }
  std::string trial_problem(TransportEntry const& entry) const override;
  std::vector<Placement> const& placements() const override { return placements_; }
  core::RunSettings const& settings() const override { return settings_; }

  /// Names what this rank does now, for failure and time-out messages. Not collective.
  void enter_phase(std::string phase, double limit_s);

  /// JobGuard's.
  void on_abort(std::string const& folder, std::function<void()> last_words);
  void on_failure(std::function<core::Exit(std::string const&)> instead);
  [[noreturn]] void abandon(core::Exit code);
  void finish();

  bool interrupted() const override;

  class Part;

 private:
  struct Mpi;
  /// Collective.
  void split_nodes(std::int64_t parts);

  LauncherFacts launcher_;
  std::unique_ptr<Mpi> mpi_;
  Group group_;
  int nodes_ = 1;
  Group node_group_;
  int node_ = 0;
  core::RunSettings settings_;
  std::optional<int> gpu_;  ///< its index, of those visible to this rank; none: the host device
  std::unique_ptr<device::KokkosRuntime> kokkos_;
  std::unique_ptr<device::Device> device_;
  device::Stream compute_;
  device::Stream communicate_;
  struct Connected {
    TransportEntry const* entry = nullptr;
    double throttle = 0;
    int max_ctas = 0;
    MessageFault fault = MessageFault::none;
    std::unique_ptr<Transport> transport;
  };
  MessageFault fault_ = MessageFault::none;
  std::vector<Connected> transports_;
  mutable std::map<TransportEntry const*, std::string> trial_problems_;
  std::vector<Placement> placements_;
};

/// Some of a world's ranks by themselves: from its construction to its end the world of these ranks is
/// theirs alone, with ranks, nodes and transports of its own, while other ranks do as they like. Devices,
/// streams and shares of the node's memory and cores stay. A part may have parts, which end first.
class World::Part {
 public:
  /// Of an open world these ranks, ascending, of which this is one. Collective over them alone, and so is
  /// the end.
  Part(World& world, std::vector<int> const& ranks);
  ~Part();
  Part(Part const&) = delete;
  Part& operator=(Part const&) = delete;

 private:
  /// Exchanges what is here with what the world has.
  void swap();

  World& world_;
  Group group_;
  int nodes_ = 1;
  Group node_group_;
  int node_ = 0;
  std::vector<Connected> transports_;
  std::map<TransportEntry const*, std::string> trial_problems_;
  std::vector<Placement> placements_;
};

}  // namespace quadrille::comm
