// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement.hpp"
#include "core/config.hpp"
#include "device/device.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::device {
struct KnownDevice;
}

namespace quadrille::comm {

struct TransportEntry;

/// Ranks and their devices, as far as planning asks for them: those of this job, which World is, or of a
/// machine that is not here. What reduces and broadcasts is collective on the former.
class Machine {
 public:
  virtual ~Machine() = default;
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int nodes() const = 0;
  /// The ranks that this process plans for: its own, or all of a machine that is not here.
  virtual std::vector<int> planned_ranks() const = 0;
  virtual device::Device& device() const = 0;
  /// Every rank's, in rank order.
  virtual std::vector<Placement> const& placements() const = 0;
  Placement const& placement() const { return placements()[static_cast<std::size_t>(rank())]; }
  virtual core::RunSettings const& settings() const = 0;
  /// Bytes of the host that can be allocated on this rank's node; infinite where nobody knows.
  virtual double free_host_memory() const = 0;
  /// Whether devices and libraries that a transport needs can be looked for. Elsewhere they are taken
  /// to be there.
  virtual bool is_here() const = 0;
  /// What a transport's trial() finds on these ranks. Collective at the first call: what nobody asks for
  /// is not tried, so that it cannot fail.
  virtual std::string trial_problem(TransportEntry const& entry) const = 0;
  /// True on every rank once TERM, INT or USR1 reached any rank. Collective.
  virtual bool interrupted() const = 0;

  /// Element by element over all ranks, in place.
  virtual void min(std::span<double> values) const = 0;
  double min(double value) const {
    min(std::span{&value, 1});
    return value;
  }
  double max(double value) const { return -min(-value); }
  virtual void broadcast(std::string& text, int root = 0) const = 0;

  /// That of the name; of "auto", the preferred of those that a case may select and that can serve these
  /// ranks, and model a link where there is a throttle. Ends the job where there is none.
  TransportEntry const& transport_entry(std::string_view name, double throttle = 0) const;

 protected:
  Machine() = default;
};

/// Ranks on one node of devices of a kind, each with one of its own; of hosts, with a share of one.
class PlannedMachine final : public Machine {
 public:
  PlannedMachine(device::KnownDevice const& known, int ranks, core::RunSettings const& settings);

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(placements_.size()); }
  int nodes() const override { return 1; }
  std::vector<int> planned_ranks() const override;
  device::Device& device() const override { return *device_; }
  std::vector<Placement> const& placements() const override { return placements_; }
  core::RunSettings const& settings() const override { return settings_; }
  double free_host_memory() const override;
  bool is_here() const override { return false; }
  std::string trial_problem(TransportEntry const&) const override { return {}; }
  bool interrupted() const override { return false; }
  using Machine::min;
  void min(std::span<double>) const override {}
  void broadcast(std::string&, int) const override {}

 private:
  core::RunSettings settings_;
  std::unique_ptr<device::Device> device_;
  std::vector<Placement> placements_;
};

}  // namespace quadrille::comm
