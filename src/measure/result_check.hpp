// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure/digest.hpp"
#include "measure/record.hpp"
#include "measure/workload.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace quadrille::measure {

/// Judges what the variants of a case leave, into their records. Every member but the constructor is
/// collective; none does anything where the case is not checked.
class ResultCheck {
 public:
  ResultCheck(comm::World& world, core::Case const& spec, Traits const& traits, Workload& workload);

  /// The outputs that the last execution left.
  void judge(kernels::VariantInfo const& variant, Record& record);
  /// What is wrong is the library where its plain call is wrong on the same operands, too; a row of it
  /// that a fault has damaged has none.
  void judge_library(kernels::VariantInfo const& variant, Record& record);
  /// Takes a wrong call of a library's search out of the choice; false where there is no other.
  bool drop_wrong_call(kernels::VariantInfo const& variant, Record const& record);

  /// What a repetition left, where every repetition must leave the same bits.
  void keep_digest(kernels::VariantInfo const& variant);
  /// All repetitions left the same bits as the last, or are wrong. The last was judged unless a signal came
  /// before.
  void compare_digests(kernels::VariantInfo const& variant, bool is_last_judged, Record& record);

 private:
  bool is_on() const { return case_.check != core::Check::off; }

  comm::World& world_;
  core::Case const& case_;
  Workload& workload_;
  bool has_one_digest_;  ///< however many repetitions there are
  OutputDigest digest_;
  std::map<kernels::VariantInfo const*, std::vector<std::uint64_t>> digests_;  ///< by repetition
};

}  // namespace quadrille::measure
