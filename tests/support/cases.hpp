// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/open.hpp"

namespace quadrille::test {

/// Reads the cases of a result again, from texts that a test has changed.
inline void read_cases_again(measure::RunResult& result) {
  result.info.settings.reset();
  for (measure::Record& record : result.records) record.spec.reset();
  report::read_cases(result);
}

}  // namespace quadrille::test
