// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// NVML of one GPU, by the declarations of its header: tells what a test has put into its answers.
#include "device/nvml_stand_in.hpp"

#include <string_view>

namespace {

template <class Value>
nvmlReturn_t tell(Value* to, unsigned value) {
  if (value == quadrille::test::kHidden) return NVML_ERROR_NOT_SUPPORTED;
  *to = static_cast<Value>(value);
  return NVML_SUCCESS;
}

}  // namespace

extern "C" {

quadrille::test::NvmlAnswers nvml_stand_in_answers;

nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetHandleByUUID(char const* uuid, nvmlDevice_t* device) {
  if (std::string_view{uuid} != "GPU-stand-in") return NVML_ERROR_NOT_FOUND;
  *device = reinterpret_cast<nvmlDevice_t>(&nvml_stand_in_answers);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t, nvmlClockType_t type, unsigned* mhz) {
  return tell(mhz, type == NVML_CLOCK_SM ? nvml_stand_in_answers.clock_mhz : 2619);
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned* milliwatts) {
  return tell(milliwatts, nvml_stand_in_answers.power_mw);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t* percent) {
  return tell(&percent->gpu, nvml_stand_in_answers.busy_percent);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned* value) {
  return tell(value, nvml_stand_in_answers.generation);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned* value) {
  return tell(value, nvml_stand_in_answers.width);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t, unsigned* value) {
  return tell(value, nvml_stand_in_answers.max_generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned* value) {
  return tell(value, nvml_stand_in_answers.max_width);
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t, nvmlEnableState_t* now,
                                  nvmlEnableState_t* pending) {
  *pending = NVML_FEATURE_DISABLED;
  return tell(now, nvml_stand_in_answers.ecc);
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t, nvmlEnableState_t* state) {
  return tell(state, nvml_stand_in_answers.persistence);
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t, unsigned* milliwatts) {
  return tell(milliwatts, nvml_stand_in_answers.power_limit_mw);
}
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t, unsigned* milliwatts) {
  return tell(milliwatts, nvml_stand_in_answers.default_power_limit_mw);
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int count, nvmlFieldValue_t* fields) {
  for (nvmlFieldValue_t* field = fields; field != fields + count; ++field) {
    field->nvmlReturn = field->fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
                            ? tell(&field->value.uiVal, nvml_stand_in_answers.recovery)
                            : NVML_ERROR_NOT_SUPPORTED;
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  *uncorrected = 0;
  *pending = nvml_stand_in_answers.pending;
  *failed = nvml_stand_in_answers.failed;
  return tell(corrected, nvml_stand_in_answers.remapped);
}
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t, nvmlPageRetirementCause_t, unsigned* count,
                                       unsigned long long*) {
  if (nvml_stand_in_answers.retired_pages == 0) return tell(count, 0);
  // As NVML, which has more addresses than there is room for.
  nvmlReturn_t const told = tell(count, nvml_stand_in_answers.retired_pages);
  return told == NVML_SUCCESS ? NVML_ERROR_INSUFFICIENT_SIZE : told;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned link, nvmlEnableState_t* state) {
  if (link >= nvml_stand_in_answers.links) return NVML_ERROR_NOT_SUPPORTED;
  *state = link < nvml_stand_in_answers.links_up ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
  return NVML_SUCCESS;
}
// Drivers before 535 have the first name alone.
#ifdef BEFORE_535
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long* reasons) {
#else
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t, unsigned long long* reasons) {
#endif
  *reasons = nvml_stand_in_answers.reasons;
  return NVML_SUCCESS;
}

}  // extern "C"
