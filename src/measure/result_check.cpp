// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "measure/result_check.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::measure {

using kernels::VariantInfo;

ResultCheck::ResultCheck(comm::World& world, core::Case const& spec, Traits const& traits,
                         Workload& workload)
    : world_{world},
      case_{spec},
      workload_{workload},
      has_one_digest_{!traits.state_depends_on_count},
      digest_{world} {}

void ResultCheck::judge(VariantInfo const& variant, Record& record) {
  if (!is_on()) return;
  Verdict const verdict = workload_.validate(world_);
  if (!verdict.skipped.empty()) {
    record.outcome = Outcome::unsupported;
    record.reason = verdict.skipped;
    return;
  }
  record.check.error = verdict.error;
  record.check.bound = verdict.allowed;
  record.check.wrong = verdict.wrong;
  record.check.first_wrong = verdict.detail;
  record.check.digest = verdict.digest;
  record.outcome = verdict.valid ? Outcome::pass : Outcome::fail;
  record.reason = verdict.valid ? "" : verdict.detail;
  if (variant.role == kernels::Role::demonstration) {
    record.outcome = Outcome::skip;
    record.reason = verdict.valid ? "demonstration: right by luck this time"
                                  : "demonstration: " + verdict.detail;
  }
}

void ResultCheck::judge_library(VariantInfo const& variant, Record& record) {
  if (record.outcome != Outcome::fail) return;
  bool const has_run = workload_.run_plainly(world_, variant);
  if (world_.group().agree(!has_run) >= 0) return;
  Verdict const verdict = workload_.validate(world_);
  if (verdict.valid || !verdict.skipped.empty()) return;
  record.outcome = Outcome::wrong_library;
  record.reason = fmt::format("{}; a plain call of the library: {}", record.reason, verdict.detail);
}

bool ResultCheck::drop_wrong_call(VariantInfo const& variant, Record const& record) {
  return record.outcome == Outcome::fail && world_.group().agree(!workload_.drop_call(variant)) < 0;
}

void ResultCheck::keep_digest(VariantInfo const& variant) {
  if (is_on() && leaves_same_bits(variant)) digests_[&variant].push_back(digest_.of(workload_));
}

void ResultCheck::compare_digests(VariantInfo const& variant, bool is_last_judged, Record& record) {
  std::vector<std::uint64_t> const& digests = digests_[&variant];
  if (digests.empty()) return;
  auto const other =
      std::ranges::find_if(digests, [&](std::uint64_t digest) { return digest != digests.back(); });
  int const rank = world_.group().agree(other != digests.end());
  auto const of_rank = core::mix(digests.back() + static_cast<std::uint64_t>(world_.rank()));
  std::int64_t const whole = world_.group().sum(static_cast<std::int64_t>(of_rank));
  if (record.check.digest.empty() && has_one_digest_)
    record.check.digest = fmt::format("{:016x}", static_cast<std::uint64_t>(whole));
  if (rank < 0 || record.outcome != Outcome::pass) return;
  std::string reason = fmt::format(
      "the output of repetition {} on rank {} differs from that of repetition {}{}: expected the "
      "same bits, got others",
      other - digests.begin() + 1, world_.rank(), digests.size(),
      is_last_judged ? ", which was checked" : "");
  world_.group().broadcast(reason, rank);
  record.outcome = Outcome::fail;
  record.reason = record.check.first_wrong = reason;
  record.check.wrong = 1;
}

}  // namespace quadrille::measure
