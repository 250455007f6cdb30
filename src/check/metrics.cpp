// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "check/metrics.hpp"

#include <algorithm>

namespace quadrille::check {
namespace {

// Products reach less of the peak than copies do, and the least of it where CUDA cores make them: what a
// right GPU of any kind reaches, and one at a third of its rate does not.
constexpr double kOfProducts = 0.4, kOfMemory = 0.7;
// Latencies and file systems vary from run to run on machines that are all right, and products that the
// power limit slows down from board to board.
constexpr double kLatencyBand = 0.2, kFilesBand = 0.5, kPowerBand = 0.08;

constexpr Metric product(std::string_view name, std::string_view keys) {
  return {.name = name,
          .unit = "FLOP/s",
          .keys = keys,
          .shared_keys = R"(workload = "gemm"
size = "8Ki"
size_host = "768")",
          .min_share = kOfProducts};
}
/// Not with --quick.
constexpr Metric later(Metric metric) {
  metric.is_quick = false;
  return metric;
}
/// Each multiprocessor, and each of its units: the results of all of them are known to the bit.
constexpr Metric peak(std::string_view name, std::string_view keys,
                      double min_share = kOfProducts) {
  return later({.name = name,
                .unit = "FLOP/s",
                .keys = keys,
                .shared_keys = R"(workload = "peak"
size = "64Gi"
size_host = "256Mi")",
                .min_share = min_share});
}
/// All memory that is free.
constexpr Metric all_memory(std::string_view name, std::string_view keys) {
  return later({.name = name,
                .unit = "B/s",
                .keys = keys,
                .shared_keys = R"(workload = "copy"
type = "i32"
size = "auto:96%"
size_host = "16Mi"
operation = "d2d")",
                .min_share = kOfMemory});
}
constexpr Metric on_gpus(Metric metric) {
  metric.on_hosts = false;
  return metric;
}
constexpr Metric power_bound(Metric metric) {
  metric.band = kPowerBand;
  return metric;
}
constexpr Metric settled(Metric metric) {
  metric.is_settled = true;
  return later(on_gpus(metric));
}

constexpr Metric kMetrics[] = {
    {.name = "memory_copy",
     .unit = "B/s",
     .keys = R"(workload = "copy"
type = "f64"
size = "256Mi"
size_host = "8Mi"
operation = "d2d")",
     .min_share = kOfMemory},
    {.name = "memory_add",
     .unit = "B/s",
     .keys = R"(workload = "vector"
type = "f32"
size = "512Mi"
size_host = "8Mi"
operation = "add")",
     .min_share = kOfMemory},
    {.name = "l2_read",
     .unit = "B/s",
     .keys = R"(workload = "memory"
type = "i8"
size = "24Mi"
size_host = "512Ki"
volume = "4Gi"
cache = "hot")",
     .on_hosts = false},
    product("gemm_f64", R"(type = "f64")"),
    product("gemm_f32", R"(type = "f32")"),
    power_bound(on_gpus(product("gemm_tf32", R"(type = "f32"
compute = "tf32")"))),
    power_bound(on_gpus(product("gemm_bf16", R"(type = "bf16")"))),
    peak("peak_f64", R"(type = "f64")"),
    peak("peak_f32", R"(type = "f32")"),
    peak("peak_i32", R"(type = "i32")", 0),
    on_gpus(peak("peak_tf32", R"(type = "f32"
compute = "tf32")")),
    on_gpus(peak("peak_bf16", R"(type = "bf16")")),
    on_gpus(peak("peak_i8", R"(type = "i8")")),
    // Whole numbers, whose products and sums are exact: each result is known to the bit.
    on_gpus(later(product("exact_f64", R"(type = "f64"
data = "integer")"))),
    on_gpus(later(product("exact_f32", R"(type = "f32"
data = "integer")"))),
    power_bound(on_gpus(later(product("exact_tf32", R"(type = "f32"
compute = "tf32"
data = "integer")")))),
    power_bound(on_gpus(later(product("exact_bf16", R"(type = "bf16"
out = "f32"
data = "integer")")))),
    // Each bit as 0 and as 1, whatever its address makes it first.
    all_memory("memory_bits", R"(data = "bits")"),
    all_memory("memory_inverted", R"(data = "inverted")"),
    settled(product("gemm_f64_settled", R"(type = "f64"
clock = "sustained")")),
    power_bound(settled(product("gemm_bf16_settled", R"(type = "bf16"
clock = "sustained")"))),
    {.name = "launch",
     .unit = "s",
     .keys = R"(workload = "api"
type = "f64"
size = "1"
variant = "launch"
timing = "synchronised"
cache = "hot"
batch = 100)",
     .value = Value::time,
     .on_hosts = false,
     .band = kLatencyBand},
    {.name = "host_to_device",
     .unit = "B/s",
     .keys = R"(workload = "copy"
type = "f64"
size = "64Mi"
size_host = "4Mi"
variant = "vendor"
operation = "h2d"
host_memory = "pinned")",
     .part = Part::host_link,
     .on_hosts = false},
    {.name = "device_to_host",
     .unit = "B/s",
     .keys = R"(workload = "copy"
type = "f64"
size = "64Mi"
size_host = "4Mi"
variant = "vendor"
operation = "d2h"
host_memory = "pinned")",
     .part = Part::host_link,
     .on_hosts = false},
    {.name = "gpu_to_gpu",
     .unit = "B/s",
     .keys = R"(workload = "pairs"
type = "i32"
size = "32Mi"
size_host = "2Mi"
data = "bits"
at_once = "disjoint")",
     .value = Value::pair_rate,
     .part = Part::peer_link,
     .on_hosts = false,
     .min_ranks = 2},
    {.name = "allreduce",
     .unit = "B/s",
     .keys = R"(workload = "allreduce"
type = "f64"
size = "16Mi"
size_host = "512Ki")",
     .scope = Scope::node,
     .part = Part::node,
     .min_ranks = 2},
    {.name = "file_system",
     .unit = "B/s",
     .keys = R"(workload = "field_io"
type = "f64"
size = "4Ki"
size_host = "1Ki")",
     .scope = Scope::node,
     .part = Part::node,
     .is_quick = false,
     .band = kFilesBand},
    {.name = "network_bandwidth",
     .unit = "B/s",
     .keys = R"(workload = "pairs"
type = "i32"
size = "8Mi"
size_host = "1Mi"
data = "bits")",
     .scope = Scope::pair,
     .value = Value::pair_rate,
     .part = Part::node},
    {.name = "network_latency",
     .unit = "s",
     .keys = {},
     .scope = Scope::pair,
     .value = Value::pair_latency,
     .part = Part::node,
     .band = kLatencyBand},
};

}  // namespace

std::span<Metric const> metrics() { return kMetrics; }

Metric const* find_metric(std::string_view name) {
  auto const* const found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == std::end(kMetrics) ? nullptr : found;
}

}  // namespace quadrille::check
