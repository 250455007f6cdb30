// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/serving/simulation.hpp"

#include "core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <utility>

namespace quadrille::workloads::serving {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// A server at work: schedule() says who is in the next step, execute() lets its time pass.
///
///   waiting --admit--> running --preempt--> swapped --resume--> running --> done
///      ^                  |
///      +--- dropped ------+   where the host has no room: K and V are computed again
class Engine {
 public:
  Engine(Server const& server, Executor& executor, std::span<Request const> requests,
         TokenHashes const& tokens, Results results)
      : server_{server},
        policy_{server.batching},
        executor_{executor},
        requests_{requests},
        tokens_{tokens},
        results_{results} {
    if (policy_.paged) {
      auto paged = std::make_unique<PagedKv>(server.kv_tokens, server.host_tokens,
                                             server.block_tokens, server.reuses_prefixes);
      paged_ = paged.get();
      kv_ = std::move(paged);
    } else {
      kv_ = std::make_unique<ContiguousKv>(server.kv_tokens, server.block_tokens);
    }
    out_.capacity = kv_->capacity();
  }

  Outcome run() {
    std::int64_t const all = std::ssize(requests_) * server_.samples;
    while (out_.sequences < all) {
      arrive();
      schedule();
      if (work_.empty()) {
        wait();
      } else {
        execute();
      }
    }
    out_.end_s = now_s_;
    out_.left = kv_->capacity() - kv_->free();
    if (paged_ != nullptr) {
      out_.copied = paged_->device().copied();
      BlockPool const& host = paged_->host();
      out_.left += (host.count() - host.free()) * host.block_tokens();
    }
    return std::move(out_);
  }

 private:
  // Time.
  void advance(double to_s) {
    double const passed_s = to_s - now_s_;
    KvUse const use = kv_->use(running_);
    out_.kv.used += use.used * passed_s;
    out_.kv.reserved += use.reserved * passed_s;
    out_.kv.internal += use.internal * passed_s;
    out_.kv.external += use.external * passed_s;
    out_.kv.free += use.free * passed_s;
    out_.used.add(now_s_, to_s, use.used);
    for (Sequence const* sequence : running_) {
      out_.unshared += static_cast<double>(sequence->cached) * passed_s;
    }
    out_.running_s += static_cast<double>(running_.size()) * passed_s;
    out_.present_s += static_cast<double>(arrived_ * server_.samples - out_.sequences) * passed_s;
    now_s_ = to_s;
  }

  void arrive() {
    for (; arrived_ < std::ssize(requests_); ++arrived_) {
      double const since_s = now_s_ - request(arrived_).arrival_s;
      if (since_s < 0) return;
      out_.present_s += static_cast<double>(server_.samples) * since_s;
    }
  }

  /// Nobody can run before somebody arrives, or has waited long enough for others.
  void wait() {
    double next_s = std::numeric_limits<double>::infinity();
    if (arrived_ < std::ssize(requests_)) next_s = request(arrived_).arrival_s;
    if (Sequence const* first = head()) {
      double const due_s = first->request->arrival_s + server_.fill_wait_s;
      if (due_s > now_s_) next_s = std::min(next_s, due_s);
    }
    QUAD_REQUIRE(std::isfinite(next_s), "serving: nobody can go on; raise kv_memory");
    out_.idle_s += next_s - now_s_;
    advance(next_s);
  }

  void execute() {
    StepWork& work = step_;
    work.rows = work.sequences = work.context = work.drawn = 0;
    work.chunks.clear();
    std::int64_t longest = 0;
    for (auto const& [sequence, tokens] : work_) {
      out_.useful_rows += tokens;
      longest = std::max(longest, tokens);
      if (tokens == 1) {
        ++work.sequences;
        work.context += sequence->cached;
      } else {
        work.chunks.push_back({tokens, sequence->cached - tokens});
      }
      work.rows += tokens;
      if (sequence->missing() == 0) work.drawn += seats_of(*sequence);
    }
    // All of a batch are as long as its longest, those that are done already included.
    if (!policy_.by_step) work.rows = std::ssize(running_) * longest;
    work.moved = std::exchange(moved_, 0);
    out_.moved += work.moved;
    if (paged_ != nullptr) {
      BlockPool const& device = paged_->device();
      work.copied = (device.copied() - copied_) * device.block_tokens();
      copied_ = device.copied();
    }
    out_.rows += work.rows;
    out_.drawn += work.drawn;
    out_.max_at_once = std::max(out_.max_at_once, static_cast<std::int64_t>(work_.size()));
    ++out_.steps;
    std::vector<BlockMove> const moves =
        paged_ == nullptr ? std::vector<BlockMove>{} : paged_->take_moves();
    double const step_s = executor_.execute(work, work_, moves);
    out_.busy_s += step_s;
    if (!executor_.covers(work)) out_.beyond_s += step_s;
    advance(now_s_ + step_s);
    if (server_.beam_search) follow_parents();
    for (Part const& part : work_) {
      if (part.sequence->missing() == 0) deliver(*part.sequence);
    }
    end_those_done();
  }

  // Scheduling.
  void schedule() {
    work_.clear();
    budget_ = policy_.paged ? server_.budget : kUnlimited;
    if (!policy_.by_step) {
      if (running_.empty() && is_batch_due()) admit();
      if (!work_.empty()) return;
      for (Sequence* sequence : running_) {
        if (!sequence->is_done()) take(*sequence, sequence->missing());
      }
      return;
    }
    if (!policy_.mixes) admit();
    if (!work_.empty()) return;
    bool const preempted = go_on();
    if (!preempted) resume();
    if (policy_.mixes && !preempted) admit();
    // Prompts that fill the memory together without an end: the last one gives way.
    while (work_.empty() && last_group().size() < running_.size()) {
      preempt();
      go_on();
    }
  }

  // Beams of a request run next to each other, make their next tokens together, and give way together. All others
  // are groups of one.
  std::span<Sequence*> group_from(std::size_t first) {
    std::size_t end = first + 1;
    while (server_.beam_search && end < running_.size() &&
           running_[end]->index == running_[first]->index) {
      ++end;
    }
    return std::span{running_}.subspan(first, end - first);
  }
  std::span<Sequence*> last_group() {
    if (running_.empty()) return {};
    std::size_t first = running_.size() - 1;
    while (server_.beam_search && first > 0 &&
           running_[first - 1]->index == running_.back()->index) {
      --first;
    }
    return group_from(first);
  }
  bool is_beam(Sequence const& sequence) const {
    return server_.beam_search && sequence.delivered > 0;
  }
  bool is_whole(std::span<Sequence* const> group) const {
    return !is_beam(*group.front()) || std::ssize(group) == server_.samples;
  }
  /// Whether some beams of the last request that runs are yet to be computed again.
  bool lacks_beams() { return !running_.empty() && !is_whole(last_group()); }
  /// Tokens that a sequence may make K and V of by itself: of a beam all but the last, with which it goes on.
  std::int64_t due(Sequence const& sequence) const {
    return sequence.missing() - (is_beam(sequence) ? 1 : 0);
  }

  bool is_batch_due() {
    Sequence const* const first = head();
    if (first == nullptr) return false;
    bool const is_full = arrived_ * server_.samples - next_ >= server_.max_running;
    bool const is_last = arrived_ == std::ssize(requests_);
    return is_full || is_last || now_s_ >= first->request->arrival_s + server_.fill_wait_s;
  }

  /// Lets those who run make their next tokens, then continue prompts that were cut. Whether
  /// somebody had to give way.
  bool go_on() {
    bool preempted = false;
    for (std::size_t i = 0; i < running_.size();) {
      std::span<Sequence*> const group = group_from(i);
      i += group.size();
      auto const is_ready = [](Sequence const* sequence) { return sequence->missing() == 1; };
      if (!is_whole(group) || !std::ranges::all_of(group, is_ready)) continue;
      while (!kv_->has_room(group)) {
        bool const is_last = i == running_.size();
        preempt();
        preempted = true;
        if (is_last) return true;
      }
      for (Sequence* sequence : group) take(*sequence, 1);
    }
    for (Sequence* sequence : running_) {
      std::int64_t const wanted = std::min(due(*sequence), budget_);
      if (sequence->missing() > 1 && wanted > 0) {
        take(*sequence, kv_->room_for(*sequence, wanted));
      }
    }
    return preempted;
  }

  void resume() {
    while (!swapped_.empty() && !lacks_beams()) {
      std::vector<Sequence*> group{swapped_.front()};
      while (is_beam(*group.front()) && std::ssize(group) < server_.samples) {
        group.push_back(swapped_[group.size()]);
      }
      Sequence& sequence = *group.front();
      std::int64_t const wanted = std::min(sequence.missing(), budget_);
      std::int64_t seats = seats_;
      for (Sequence const* one : group) seats += seats_of(*one);
      if (wanted == 0 || seats > server_.max_running) return;
      auto const copied = paged_->swap_in(group, running_.empty());
      if (!copied) return;
      moved_ += *copied;
      for (Sequence* one : group) {
        swapped_.pop_front();
        join(*one);
        take(*one, kv_->room_for(*one, wanted));
      }
    }
  }

  void admit() {
    while (Sequence* const sequence = head()) {
      if (!swapped_.empty() && !lacks_beams()) return;
      if (seats_ + seats_of(*sequence) > server_.max_running) return;
      if (!kv_->admit(*sequence, tokens_)) return;
      std::int64_t wanted = due(*sequence);
      bool const is_over = wanted > budget_;
      if (is_over && policy_.chunks) wanted = budget_;
      bool const has_part = wanted > 0 || due(*sequence) == 0;
      bool const fits_step = has_part && (!is_over || policy_.chunks || work_.empty());
      bool const is_alone = running_.empty() || (is_beam(*sequence) && lacks_beams() &&
                                                 last_group().size() == running_.size());
      bool const fits =
          fits_step && (paged_ == nullptr || paged_->has_spare(*sequence, wanted, is_alone));
      if (!fits) {
        kv_->release(*sequence);
        return;
      }
      out_.reused += sequence->cached;
      leave_queue();
      sequence->joined_s = now_s_;
      join(*sequence);
      take(*sequence, wanted);
    }
  }

  /// Makes K and V of the next tokens of a sequence in this step.
  void take(Sequence& sequence, std::int64_t tokens) {
    if (tokens == 0) return;
    for (std::int64_t i = 0; i < tokens; ++i) {
      kv_->write(sequence, tokens_(*sequence.request, sequence.sample, sequence.cached));
    }
    budget_ -= std::min(tokens, budget_);
    work_.push_back({&sequence, tokens});
  }

  void join(Sequence& sequence) {
    seats_ += seats_of(sequence);
    running_.push_back(&sequence);
  }

  /// Of whom the samples of its prompt are yet to come, they have seats already.
  std::int64_t seats_of(Sequence const& sequence) const {
    return policy_.paged && sequence.sample == 0 && sequence.delivered == 0 ? server_.samples : 1;
  }

  /// Takes the memory of the last ones that run, which came last.
  void preempt() {
    std::span<Sequence*> const group = last_group();
    for (Sequence const* sequence : group) seats_ -= seats_of(*sequence);
    auto const copied = is_whole(group) ? paged_->swap_out(group) : std::nullopt;
    if (copied) {
      moved_ += *copied;
      out_.swaps += std::ssize(group);
    } else {
      for (Sequence* sequence : group) {
        out_.recomputed += sequence->cached;
        kv_->release(*sequence);
      }
    }
    std::deque<Sequence*>& waiting = copied ? swapped_ : dropped_;
    waiting.insert(waiting.begin(), group.begin(), group.end());
    running_.resize(running_.size() - group.size());
  }

  // Whoever waits: those whose K and V were dropped, then arrivals.
  Sequence* head() {
    if (!dropped_.empty()) return dropped_.front();
    // Samples share a prompt where they can share blocks.
    std::int64_t const samples = policy_.paged ? 1 : server_.samples;
    if (next_ >= arrived_ * samples) return nullptr;
    if (newcomer_ == nullptr) newcomer_ = &make_sequence(next_ / samples, next_ % samples);
    return newcomer_;
  }
  void leave_queue() {
    if (!dropped_.empty()) {
      dropped_.pop_front();
    } else {
      newcomer_ = nullptr;
      ++next_;
    }
  }

  Sequence& make_sequence(std::int64_t index, std::int64_t sample) {
    if (unused_.empty()) unused_.push_back(&sequences_.emplace_back());
    Sequence& sequence = *unused_.back();
    unused_.pop_back();
    std::vector<BlockId> memory = std::move(sequence.table.blocks);
    memory.clear();
    sequence = {.request = &request(index), .index = index, .sample = sample};
    sequence.table.blocks = std::move(memory);
    return sequence;
  }

  // Tokens.
  /// Beams go on where their tokens were behind.
  void follow_parents() {
    for (std::size_t i = 0; i < work_.size(); ++i) {
      Sequence const& first = *work_[i].sequence;
      if (!is_beam(first) || first.missing() > 0 || first.sample > 0) continue;
      std::vector<Sequence*> beams;
      std::vector<std::uint64_t> outputs;
      for (std::int64_t sample = 0; sample < server_.samples; ++sample) {
        beams.push_back(work_.at(i + beams.size()).sequence);
        outputs.push_back(beams.back()->output);
      }
      std::span<std::int32_t const> const parents = executor_.parents(*first.request);
      paged_->follow(beams, parents);
      for (std::size_t beam = 0; beam < beams.size(); ++beam) {
        beams[beam]->output = outputs[static_cast<std::size_t>(parents[beam])];
      }
    }
  }

  void deliver(Sequence& sequence) {
    bool const is_first = sequence.delivered == 0;
    double const before_s = is_first ? sequence.request->arrival_s : sequence.last_token_s;
    (is_first ? out_.first_token_s : out_.gap_s).add(now_s_ - before_s);
    if (!(now_s_ > before_s)) ++out_.not_in_order;
    std::int64_t const t = sequence.request->prompt + sequence.delivered;
    sequence.output += tokens_(*sequence.request, sequence.sample, t);
    ++sequence.delivered;
    ++out_.tokens;
    sequence.last_token_s = now_s_;
    if (is_first && sequence.sample == 0 && policy_.paged) fork(sequence);
  }

  void fork(Sequence const& first) {
    for (std::int64_t sample = 1; sample < server_.samples; ++sample) {
      Sequence& other = make_sequence(first.index, sample);
      other.cached = first.cached;
      other.joined_s = now_s_;
      paged_->fork(first, other);
      out_.forked += other.cached;
      running_.insert(std::ranges::find(running_, &first) + sample, &other);
      deliver(other);
    }
  }

  void end_those_done() {
    auto const is_done = [](Sequence const* sequence) { return sequence->is_done(); };
    if (!policy_.by_step) {
      if (!std::ranges::all_of(running_, is_done)) return;
      add_rectangle();
    }
    std::erase_if(running_, [&](Sequence* sequence) {
      if (!is_done(sequence)) return false;
      end(*sequence);
      return true;
    });
  }

  void end(Sequence& sequence) {
    results_.cached[place(sequence)] = static_cast<std::int64_t>(kv_->sum_of(sequence));
    results_.delivered[place(sequence)] = static_cast<std::int64_t>(sequence.output);
    executor_.end(sequence);
    std::int64_t const piece = ContiguousKv::piece_of(*sequence.request, server_.block_tokens);
    out_.piece_s += static_cast<double>(piece) * (now_s_ - sequence.joined_s);
    out_.waited_s += now_s_ - sequence.request->arrival_s;
    ++out_.sequences;
    --seats_;
    kv_->release(sequence);
    unused_.push_back(&sequence);
  }

  /// What a batch takes in products, by the lengths of its requests.
  void add_rectangle() {
    std::int64_t prompt = 0, output = 0;
    for (Sequence const* sequence : running_) {
      prompt = std::max<std::int64_t>(prompt, sequence->request->prompt);
      output = std::max<std::int64_t>(output, sequence->request->output);
    }
    out_.rectangles += std::ssize(running_) * (prompt + output - 1);
  }

  Request const& request(std::int64_t index) const {
    return requests_[static_cast<std::size_t>(index)];
  }
  std::size_t place(Sequence const& sequence) const {
    return static_cast<std::size_t>(sequence.index * server_.samples + sequence.sample);
  }

  Server const& server_;
  Batching const& policy_;
  Executor& executor_;
  std::span<Request const> requests_;
  TokenHashes const& tokens_;
  Results results_;
  std::unique_ptr<KvMemory> kv_;
  PagedKv* paged_ = nullptr;  ///< kv_, where it is

  double now_s_ = 0;
  std::int64_t arrived_ = 0;  ///< requests
  std::int64_t next_ = 0;     ///< that has not been admitted yet
  std::int64_t seats_ = 0;    ///< taken, of max_running
  std::int64_t budget_ = 0;   ///< tokens that this step may yet have
  std::int64_t moved_ = 0;    ///< tokens swapped since the last step
  std::int64_t copied_ = 0;   ///< blocks that earlier steps copied
  std::deque<Sequence> sequences_;
  std::vector<Sequence*> unused_;
  Sequence* newcomer_ = nullptr;
  std::deque<Sequence*> dropped_, swapped_;
  std::vector<Sequence*> running_;
  std::vector<Part> work_;
  StepWork step_;
  Outcome out_;
};

}  // namespace

Results expected_results(std::span<Request const> requests, TokenHashes const& tokens,
                         std::int64_t samples, Results memory) {
  std::size_t at = 0;
  for (Request const& request : requests) {
    std::uint64_t const prompt = tokens.sum(request, 0, 0, request.prompt);
    std::int64_t const last = request.max_cached();
    for (std::int64_t sample = 0; sample < samples; ++sample, ++at) {
      std::uint64_t const output = tokens.sum(request, sample, request.prompt, last);
      memory.cached[at] = static_cast<std::int64_t>(prompt + output);
      memory.delivered[at] = static_cast<std::int64_t>(output + tokens(request, sample, last));
    }
  }
  return memory;
}

Outcome serve(Server const& server, Executor& executor, std::span<Request const> requests,
              TokenHashes const& tokens, Results results) {
  return Engine{server, executor, requests, tokens, results}.run();
}

Outcome simulate(Server const& server, StepTimes const& times, std::span<Request const> requests,
                 TokenHashes const& tokens, Results results, Outputs* outputs) {
  class Simulated final : public Executor {
   public:
    Simulated(Server const& server, StepTimes const& times, TokenHashes const& tokens,
              Outputs* outputs)
        : server_{server}, times_{times}, tokens_{tokens}, outputs_{outputs} {}
    double execute(StepWork const& work, std::span<Part const> parts,
                   std::span<BlockMove const>) override {
      for (Part const& part : parts) {
        bool const is_first = server_.beam_search && part.sequence->sample == 0;
        if (is_first && part.sequence->missing() == 0) extend(*part.sequence);
      }
      return times_.of(work);
    }
    bool covers(StepWork const& work) const override { return times_.covers(work); }
    std::span<std::int32_t const> parents(Request const& request) const override {
      return outputs_->parents(request);
    }

   private:
    void extend(Sequence const& first) {
      std::int64_t const number = outputs_->number(*first.request, 0),
                         t = first.request->prompt + first.delivered;
      std::vector<std::int32_t> parents, words;
      for (std::int64_t beam = 0; beam < server_.samples; ++beam) {
        std::int32_t const word = tokens_.next_word(number + beam, t);
        words.push_back(word);
        // From any as likely.
        parents.push_back(static_cast<std::int32_t>(word % server_.samples));
      }
      outputs_->extend(number, std::move(parents), words);
    }

    Server const& server_;
    StepTimes const& times_;
    TokenHashes const& tokens_;
    Outputs* outputs_;
  };
  Simulated simulated{server, times, tokens, outputs};
  return serve(server, simulated, requests, tokens, results);
}

bool Claim::holds() const { return std::abs(got - expected) <= tolerance; }

std::vector<Claim> claims_of(Outcome const& outcome, Server const& server,
                             std::span<Request const> requests) {
  Batching const& policy = server.batching;
  std::int64_t const samples = server.samples;
  auto const all = std::ssize(requests) * samples;
  std::int64_t outputs = 0, cached = 0;
  for (Request const& request : requests) {
    outputs += samples * request.output;
    cached += samples * request.max_cached();
  }
  std::vector<Claim> claims;
  auto const count = [&](std::string_view what, std::int64_t expected, std::int64_t got) {
    claims.push_back({what, static_cast<double>(expected), static_cast<double>(got), 0});
  };
  auto const same = [&](std::string_view what, double expected, double got) {
    // Sums of as many terms as there are steps.
    double const scale = std::max(std::abs(expected), std::abs(got));
    claims.push_back({what, expected, got, 1e-9 * scale});
  };
  count("sequences that ended", all, outcome.sequences);
  count("tokens delivered", outputs, outcome.tokens);
  count("tokens drawn", outputs, outcome.drawn);
  count("first tokens", all, outcome.first_token_s.count());
  count("tokens behind another", outputs - all, outcome.gap_s.count());
  count("tokens before what they follow", 0, outcome.not_in_order);
  count("tokens computed", cached - outcome.reused - outcome.forked + outcome.recomputed,
        outcome.useful_rows);
  count("slots left behind", 0, outcome.left);
  same("seconds busy and idle", outcome.end_s, outcome.busy_s + outcome.idle_s);
  // Little: what is present on average is the rate of arrivals times the time to stay.
  same("seconds from arrivals to ends", outcome.waited_s, outcome.present_s);
  same("slots times seconds", static_cast<double>(outcome.capacity) * outcome.end_s,
       outcome.kv.all());
  same("slots used times seconds, by time", outcome.kv.used,
       outcome.used.mean(0, outcome.end_s) * outcome.end_s);
  if (policy.by_step) {
    count("rows of products", outcome.useful_rows, outcome.rows);
  } else {
    count("requests times the longest of their batch", outcome.rectangles, outcome.rows);
  }
  double const taken = outcome.kv.used + outcome.kv.reserved + outcome.kv.internal;
  if (policy.paged) {
    double const most = static_cast<double>(server.block_tokens - 1) * outcome.running_s;
    double const waste = outcome.kv.waste();
    claims.push_back({"slots wasted, less than a block for each sequence", most / 2, waste,
                      most / 2 * (1 + 1e-9)});
  } else {
    same("slots reserved times seconds", outcome.piece_s, taken);
  }
  return claims;
}

}  // namespace quadrille::workloads::serving
