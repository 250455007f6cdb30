// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvml.hpp"

#include <array>

namespace quadrille::device {
namespace {

using Handle = void*;
using Count = unsigned long long;

// What the header calls these.
constexpr int kCorrected = 0, kUncorrected = 1, kSinceReboot = 0;
constexpr Count kXidEvent = 8;
constexpr unsigned kMostLinks = 18;

std::optional<Count> ecc_errors(Library const& library, Handle gpu, int kind) {
  auto* const get =
      library.find_optional<int(Handle, int, int, Count*)>("nvmlDeviceGetTotalEccErrors");
  Count count = 0;
  if (get == nullptr || get(gpu, kind, kSinceReboot, &count) != 0) return {};
  return count;
}

/// Of all links that are up.
std::optional<Count> link_errors(Library const& library, Handle gpu, int kind) {
  auto* const get =
      library.find_optional<int(Handle, unsigned, int, Count*)>("nvmlDeviceGetNvLinkErrorCounter");
  std::optional<Count> sum;
  for (unsigned link = 0; get != nullptr && link < kMostLinks; ++link) {
    Count count = 0;
    if (get(gpu, link, kind, &count) == 0) sum = sum.value_or(0) + count;
  }
  return sum;
}

std::optional<Count> pcie_replays(Library const& library, Handle gpu, int) {
  auto* const get = library.find_optional<int(Handle, unsigned*)>("nvmlDeviceGetPcieReplayCounter");
  unsigned count = 0;
  if (get == nullptr || get(gpu, &count) != 0) return {};
  return count;
}

/// Of the memory: by corrected and by uncorrected errors together.
std::optional<Count> remapped_rows(Library const& library, Handle gpu, int) {
  auto* const get = library.find_optional<int(Handle, unsigned*, unsigned*, unsigned*, unsigned*)>(
      "nvmlDeviceGetRemappedRows");
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (get == nullptr || get(gpu, &corrected, &uncorrected, &pending, &failed) != 0) return {};
  return Count{corrected} + uncorrected + pending + failed;
}

struct Row {
  char const* name;
  std::optional<Count> (*get)(Library const&, Handle, int);
  int kind;
};
constexpr Row kCounters[] = {{"corrected ECC errors", ecc_errors, kCorrected},
                             {"uncorrected ECC errors", ecc_errors, kUncorrected},
                             {"remapped rows of memory", remapped_rows, 0},
                             {"PCIe replays", pcie_replays, 0},
                             {"NVLink replays", link_errors, 0},
                             {"NVLink recoveries", link_errors, 1},
                             {"NVLink flit checksum errors", link_errors, 2},
                             {"NVLink data checksum errors", link_errors, 3}};

/// nvmlEventData_t.
struct XidEvent {
  Handle gpu = nullptr;
  Count type = 0, data = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

}  // namespace

Nvml::Nvml(std::string const& uuid) {
  if (!library_.why_absent().empty()) return;
  auto* const init = library_.get<int()>("nvmlInit_v2");
  auto* const find = library_.get<int(char const*, Handle*)>("nvmlDeviceGetHandleByUUID");
  get_clock_ = library_.get<int(Handle, int, unsigned*)>("nvmlDeviceGetClockInfo");
  get_power_ = library_.get<int(Handle, unsigned*)>("nvmlDeviceGetPowerUsage");
  get_temperature_ = library_.get<int(Handle, int, unsigned*)>("nvmlDeviceGetTemperature");
  get_energy_ = library_.get<int(Handle, Count*)>("nvmlDeviceGetTotalEnergyConsumption");
  if (init() != 0 || find(uuid.c_str(), &handle_) != 0) handle_ = nullptr;
  if (handle_ == nullptr) return;
  auto* const make = library_.find_optional<int(Handle*)>("nvmlEventSetCreate");
  auto* const listen =
      library_.find_optional<int(Handle, Count, Handle)>("nvmlDeviceRegisterEvents");
  if (make == nullptr || listen == nullptr || make(&xid_events_) != 0) return;
  if (listen(handle_, kXidEvent, xid_events_) != 0) xid_events_ = nullptr;
}

std::optional<Telemetry> Nvml::read() const {
  constexpr int kMultiprocessors = 1, kMemory = 2, kChip = 0;
  unsigned clock = 0, memory_clock = 0, milliwatts = 0, celsius = 0;
  Count millijoules = 0;
  if (handle_ == nullptr || get_clock_(handle_, kMultiprocessors, &clock) != 0) return {};
  // What a virtual machine hides stays zero.
  get_clock_(handle_, kMemory, &memory_clock);
  get_power_(handle_, &milliwatts);
  get_temperature_(handle_, kChip, &celsius);
  get_energy_(handle_, &millijoules);
  return Telemetry{1e6 * clock, 1e6 * memory_clock, 1e-3 * milliwatts, static_cast<double>(celsius),
                   1e-3 * static_cast<double>(millijoules)};
}

std::vector<ErrorCounter> Nvml::error_counters() {
  std::vector<ErrorCounter> counters;
  if (handle_ == nullptr) return counters;
  for (Row const& row : kCounters) {
    if (auto const count = row.get(library_, handle_, row.kind)) {
      counters.push_back({row.name, *count});
    }
  }
  auto* const wait =
      library_.find_optional<int(Handle, XidEvent*, unsigned)>("nvmlEventSetWait_v2");
  if (xid_events_ != nullptr && wait != nullptr) {
    // Each returns one event that has arrived, or a time-out at once.
    for (XidEvent event; wait(xid_events_, &event, 0) == 0;) ++xids_;
    counters.push_back({"Xid errors", xids_});
  }
  return counters;
}

Link Nvml::link_to(std::string const& uuid) const {
  constexpr int kNvlinkCapability = 2, kIsThere = 0;
  auto* const find = library_.find_optional<int(char const*, Handle*)>("nvmlDeviceGetHandleByUUID");
  Handle other = nullptr;
  bool const is_seen =
      handle_ != nullptr && find != nullptr && find(uuid.c_str(), &other) == 0 && other != nullptr;
  if (!is_seen) return Link::unknown;
  auto* const peer_status =
      library_.find_optional<int(Handle, Handle, int, int*)>("nvmlDeviceGetP2PStatus");
  int status = -1;
  bool const has_nvlink = peer_status != nullptr &&
                          peer_status(handle_, other, kNvlinkCapability, &status) == 0 &&
                          status == kIsThere;
  if (has_nvlink) return Link::nvlink;
  // Whether there is any way at all; its length does not matter here.
  auto* const ancestor =
      library_.find_optional<int(Handle, Handle, int*)>("nvmlDeviceGetTopologyCommonAncestor");
  int level = 0;
  bool const is_joined = ancestor != nullptr && ancestor(handle_, other, &level) == 0;
  return is_joined ? Link::pcie : Link::unknown;
}

std::string nvml_driver_version() {
  Library const library{{"libnvidia-ml.so.1"}};
  auto* const init = library.find_optional<int()>("nvmlInit_v2");
  auto* const version = library.find_optional<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  std::array<char, 80> text{};  // the length that the interface names
  bool const is_told = init != nullptr && version != nullptr && init() == 0 &&
                       version(text.data(), static_cast<unsigned>(text.size())) == 0;
  return is_told ? text.data() : "";
}

}  // namespace quadrille::device
