// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/decoder/decoder.hpp"

namespace quadrille::workloads::entries {

extern measure::WorkloadEntry const parallel_decoder = measure::entry({
    .schema = decoder::schema_of("parallel_decoder", true),
    .summary = "a step of a language model whose heads and MLPs ranks share: tensor parallelism",
    .work = decoder::kWork,
    .local = false,
    .variants = decoder::selection(),
    .make = [](core::Case const& spec, int ranks,
               int rank) { return decoder::make(spec, ranks, rank, true); },
    .secondary = decoder::metrics(),
});

}  // namespace quadrille::workloads::entries
