// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/policies.hpp"

namespace quadrille::workloads::serving {

std::span<Policy const> policies() {
  constexpr auto row = [](std::string_view name, std::string_view source, std::string_view summary,
                          Batching batching, int preference = 0) {
    return Policy{{.name = name,
                   .where = kernels::Where::any,
                   .types = {core::DataType::f16, core::DataType::bf16, core::DataType::f32},
                   .preference = preference,
                   .source = source,
                   .summary = summary},
                  batching};
  };
  static constexpr Policy all[] = {
      row("static", "FasterTransformer", "a batch stays together until its longest is done",
          {.by_step = false}),
      row("orca", "Yu et al., OSDI 2022",
          "requests join and leave at every step; each reserves its limit", {.mixes = true}),
      row("paged", "Kwon et al., SOSP 2023",
          "K and V in blocks; a step is all prompts or all single tokens", {.paged = true}),
      row("chunked_prefill", "LightLLM; Agrawal et al., OSDI 2024",
          "paged; prompts are cut to fill steps of single tokens up to a budget",
          {.paged = true, .mixes = true, .chunks = true}, 10),
  };
  return all;
}

}  // namespace quadrille::workloads::serving
