// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/serving.hpp"

namespace quadrille::workloads::entries {

extern measure::WorkloadEntry const parallel_serving =
    measure::entry(serving::entry_of("parallel_serving",
                                     "a language model whose heads and MLPs ranks share, served to "
                                     "a trace of requests by four ways of batching",
                                     true));

}  // namespace quadrille::workloads::entries
