// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvml.hpp"

#include <nvml.h>

#include <array>
#include <utility>

/// The function of this name by the type in its header; null where the driver has none.
#define QUAD_NVML(library, function) (library).find_optional<decltype(function)>(#function)

namespace quadrille::device {
namespace {

using Count = unsigned long long;

/// False where there is no such function or it does not tell.
template <class Function, class... Arguments>
bool succeeds(Function* function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == NVML_SUCCESS;
}

std::optional<Count> ecc_errors(Library const& library, nvmlDevice_t gpu, int kind) {
  Count count = 0;
  if (!succeeds(QUAD_NVML(library, nvmlDeviceGetTotalEccErrors), gpu,
                static_cast<nvmlMemoryErrorType_t>(kind), NVML_VOLATILE_ECC, &count)) {
    return {};
  }
  return count;
}

/// Of all links that are up.
std::optional<Count> link_errors(Library const& library, nvmlDevice_t gpu, int kind) {
  std::optional<Count> sum;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    Count count = 0;
    if (succeeds(QUAD_NVML(library, nvmlDeviceGetNvLinkErrorCounter), gpu, link,
                 static_cast<nvmlNvLinkErrorCounter_t>(kind), &count)) {
      sum = sum.value_or(0) + count;
    }
  }
  return sum;
}

std::optional<Count> pcie_replays(Library const& library, nvmlDevice_t gpu, int) {
  unsigned count = 0;
  if (!succeeds(QUAD_NVML(library, nvmlDeviceGetPcieReplayCounter), gpu, &count)) return {};
  return count;
}

std::optional<RemappedRows> remapped(Library const& library, nvmlDevice_t gpu) {
  RemappedRows rows;
  unsigned is_pending = 0, has_failed = 0;
  if (!succeeds(QUAD_NVML(library, nvmlDeviceGetRemappedRows), gpu, &rows.corrected,
                &rows.uncorrected, &is_pending, &has_failed)) {
    return {};
  }
  rows.is_pending = is_pending != 0;
  rows.has_failed = has_failed != 0;
  return rows;
}

/// Of the memory: by corrected and by uncorrected errors together.
std::optional<Count> remapped_rows(Library const& library, nvmlDevice_t gpu, int) {
  auto const rows = remapped(library, gpu);
  if (!rows) return {};
  return Count{rows->corrected} + rows->uncorrected + (rows->is_pending ? 1 : 0) +
         (rows->has_failed ? 1 : 0);
}

struct Row {
  char const* name;
  std::optional<Count> (*get)(Library const&, nvmlDevice_t, int);
  int kind;
};
// Not data checksums: on Hopper that counter rises with the traffic of healthy links, hundreds a minute
// without a replay.
constexpr Row kCounters[] = {
    {"corrected ECC errors", ecc_errors, NVML_MEMORY_ERROR_TYPE_CORRECTED},
    {"uncorrected ECC errors", ecc_errors, NVML_MEMORY_ERROR_TYPE_UNCORRECTED},
    {"remapped rows of memory", remapped_rows, 0},
    {"PCIe replays", pcie_replays, 0},
    {"NVLink replays", link_errors, NVML_NVLINK_ERROR_DL_REPLAY},
    {"NVLink recoveries", link_errors, NVML_NVLINK_ERROR_DL_RECOVERY},
    {"NVLink checksum errors", link_errors, NVML_NVLINK_ERROR_DL_CRC_FLIT}};

/// An idle GPU's low clocks are no limit.
constexpr std::pair<Count, ClockLimit> kClockLimits[] = {
    {nvmlClocksThrottleReasonSwPowerCap, ClockLimit::power},
    {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, ClockLimit::power},
    {nvmlClocksThrottleReasonSwThermalSlowdown, ClockLimit::thermal},
    {nvmlClocksThrottleReasonHwThermalSlowdown, ClockLimit::thermal},
    {nvmlClocksThrottleReasonHwSlowdown, ClockLimit::hardware},
    {nvmlClocksThrottleReasonApplicationsClocksSetting, ClockLimit::other},
    {nvmlClocksThrottleReasonSyncBoost, ClockLimit::other},
    {nvmlClocksThrottleReasonDisplayClockSetting, ClockLimit::other}};

core::EnumSet<ClockLimit> clock_limits(Library const& library, nvmlDevice_t gpu) {
  using Get = nvmlReturn_t(nvmlDevice_t, Count*);
  // Drivers before 535 have it under its first name alone.
  auto* get = library.find_optional<Get>("nvmlDeviceGetCurrentClocksEventReasons");
  if (get == nullptr) {
    get = library.find_optional<Get>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  core::EnumSet<ClockLimit> limits;
  Count reasons = 0;
  if (!succeeds(get, gpu, &reasons)) return limits;
  for (auto const& [reason, limit] : kClockLimits) {
    if ((reasons & reason) != 0) limits.insert(limit);
  }
  return limits;
}

std::optional<Recovery> recovery_action(Library const& library, nvmlDevice_t gpu) {
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION;
  bool const is_told = succeeds(QUAD_NVML(library, nvmlDeviceGetFieldValues), gpu, 1, &field) &&
                       field.nvmlReturn == NVML_SUCCESS;
  if (!is_told) return {};
  switch (field.value.uiVal) {
    case NVML_GPU_RECOVERY_ACTION_NONE: return Recovery::none;
    case NVML_GPU_RECOVERY_ACTION_GPU_RESET: return Recovery::reset;
    case NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: return Recovery::reboot;
    case NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: return Recovery::drain;
    case NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: return Recovery::drain_and_reset;
    default: return {};
  }
}

std::optional<unsigned> retired_pages(Library const& library, nvmlDevice_t gpu) {
  unsigned sum = 0;
  for (auto const cause : {NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS,
                           NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR}) {
    unsigned count = 0;  // room for no addresses: NVML only counts then
    auto* const get = QUAD_NVML(library, nvmlDeviceGetRetiredPages);
    if (get == nullptr) return {};
    nvmlReturn_t const answer = get(gpu, cause, &count, nullptr);
    if (answer != NVML_SUCCESS && answer != NVML_ERROR_INSUFFICIENT_SIZE) return {};
    sum += count;
  }
  return sum;
}

}  // namespace

Nvml::Nvml(std::string const& uuid) {
  if (!succeeds(QUAD_NVML(library_, nvmlInit_v2)) ||
      !succeeds(QUAD_NVML(library_, nvmlDeviceGetHandleByUUID), uuid.c_str(), &handle_)) {
    handle_ = nullptr;
    return;
  }
  if (!succeeds(QUAD_NVML(library_, nvmlEventSetCreate), &xid_events_) ||
      !succeeds(QUAD_NVML(library_, nvmlDeviceRegisterEvents), handle_,
                Count{nvmlEventTypeXidCriticalError}, xid_events_)) {
    xid_events_ = nullptr;
  }
}

std::optional<Telemetry> Nvml::read() const {
  if (handle_ == nullptr) return {};
  auto* const get_clock = QUAD_NVML(library_, nvmlDeviceGetClockInfo);
  unsigned clock = 0, memory_clock = 0, milliwatts = 0, celsius = 0;
  Count millijoules = 0;
  if (!succeeds(get_clock, handle_, NVML_CLOCK_SM, &clock)) return {};
  // Of what a virtual machine hides the value stays zero.
  succeeds(get_clock, handle_, NVML_CLOCK_MEM, &memory_clock);
  succeeds(QUAD_NVML(library_, nvmlDeviceGetPowerUsage), handle_, &milliwatts);
  succeeds(QUAD_NVML(library_, nvmlDeviceGetTemperature), handle_, NVML_TEMPERATURE_GPU, &celsius);
  succeeds(QUAD_NVML(library_, nvmlDeviceGetTotalEnergyConsumption), handle_, &millijoules);
  return Telemetry{.clock_hz = 1e6 * clock,
                   .memory_clock_hz = 1e6 * memory_clock,
                   .power_w = 1e-3 * milliwatts,
                   .temperature_c = static_cast<double>(celsius),
                   .energy_j = 1e-3 * static_cast<double>(millijoules),
                   .clock_limits = clock_limits(library_, handle_)};
}

double Nvml::utilization() const {
  nvmlUtilization_t percent{};
  bool const is_told =
      handle_ != nullptr &&
      succeeds(QUAD_NVML(library_, nvmlDeviceGetUtilizationRates), handle_, &percent);
  return is_told ? 0.01 * percent.gpu : 0;
}

std::vector<ErrorCounter> Nvml::error_counters() {
  std::vector<ErrorCounter> counters;
  if (handle_ == nullptr) return counters;
  for (Row const& row : kCounters) {
    if (auto const count = row.get(library_, handle_, row.kind)) {
      counters.push_back({row.name, *count});
    }
  }
  auto* const wait = QUAD_NVML(library_, nvmlEventSetWait_v2);
  if (xid_events_ != nullptr && wait != nullptr) {
    // Each returns one event that has arrived, or a time-out at once.
    nvmlEventData_t event{};
    while (wait(xid_events_, &event, 0) == NVML_SUCCESS) ++xids_;
    counters.push_back({"Xid errors", xids_});
  }
  return counters;
}

PcieLink Nvml::pcie_link() const {
  auto const told = [this](auto* get) {
    unsigned value = 0;
    return handle_ != nullptr && succeeds(get, handle_, &value) ? static_cast<int>(value) : 0;
  };
  return {.generation = told(QUAD_NVML(library_, nvmlDeviceGetCurrPcieLinkGeneration)),
          .width = told(QUAD_NVML(library_, nvmlDeviceGetCurrPcieLinkWidth)),
          .max_generation = told(QUAD_NVML(library_, nvmlDeviceGetMaxPcieLinkGeneration)),
          .max_width = told(QUAD_NVML(library_, nvmlDeviceGetMaxPcieLinkWidth))};
}

GpuSettings Nvml::settings() const {
  GpuSettings settings;
  if (handle_ == nullptr) return settings;
  nvmlEnableState_t state{}, pending{};
  if (succeeds(QUAD_NVML(library_, nvmlDeviceGetEccMode), handle_, &state, &pending))
    settings.corrects_errors = state == NVML_FEATURE_ENABLED;
  if (succeeds(QUAD_NVML(library_, nvmlDeviceGetPersistenceMode), handle_, &state))
    settings.is_persistent = state == NVML_FEATURE_ENABLED;
  for (unsigned link = 0; link < NVML_NVLINK_MAX_LINKS; ++link) {
    if (!succeeds(QUAD_NVML(library_, nvmlDeviceGetNvLinkState), handle_, link, &state)) continue;
    ++settings.nvlinks;
    settings.nvlinks_up += state == NVML_FEATURE_ENABLED ? 1 : 0;
  }
  auto const watts = [this](auto* get) -> std::optional<double> {
    unsigned milliwatts = 0;
    return succeeds(get, handle_, &milliwatts) ? std::optional{1e-3 * milliwatts} : std::nullopt;
  };
  settings.power_limit_w = watts(QUAD_NVML(library_, nvmlDeviceGetEnforcedPowerLimit));
  settings.default_power_limit_w =
      watts(QUAD_NVML(library_, nvmlDeviceGetPowerManagementDefaultLimit));
  settings.recovery = recovery_action(library_, handle_);
  settings.remapped_rows = remapped(library_, handle_);
  if (!settings.remapped_rows) settings.retired_pages = retired_pages(library_, handle_);
  settings.pcie = pcie_link();
  return settings;
}

Link Nvml::link_to(std::string const& uuid) const {
  nvmlDevice_t other = nullptr;
  bool const is_seen =
      handle_ != nullptr &&
      succeeds(QUAD_NVML(library_, nvmlDeviceGetHandleByUUID), uuid.c_str(), &other);
  if (!is_seen) return Link::unknown;
  nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;
  bool const has_nvlink = succeeds(QUAD_NVML(library_, nvmlDeviceGetP2PStatus), handle_, other,
                                   NVML_P2P_CAPS_INDEX_NVLINK, &status) &&
                          status == NVML_P2P_STATUS_OK;
  if (has_nvlink) return Link::nvlink;
  // Whether there is any way at all; its length does not matter here.
  nvmlGpuTopologyLevel_t level{};
  bool const is_joined =
      succeeds(QUAD_NVML(library_, nvmlDeviceGetTopologyCommonAncestor), handle_, other, &level);
  return is_joined ? Link::pcie : Link::unknown;
}

std::string nvml_driver_version() {
  Library const library{{"libnvidia-ml.so.1"}};
  std::array<char, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE> text{};
  bool const is_told = succeeds(QUAD_NVML(library, nvmlInit_v2)) &&
                       succeeds(QUAD_NVML(library, nvmlSystemGetDriverVersion), text.data(),
                                static_cast<unsigned>(text.size()));
  return is_told ? text.data() : "";
}

}  // namespace quadrille::device
