// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Hostile input: texts of a corpus, changed by chance. An input depends on the seed and its number
/// alone, so that what a failure names can be made again.
namespace quadrille::test {

class Mutator {
 public:
  /// `tokens` are pieces of the grammar that changes put in.
  Mutator(std::vector<std::string> corpus, std::vector<std::string> tokens, std::uint64_t seed)
      : corpus_{std::move(corpus)}, tokens_{std::move(tokens)}, seed_{seed} {}

  std::string input(std::uint64_t number) {
    random_.seed(seed_ * 0x9e3779b97f4a7c15ULL + number);
    std::string text = one_of(corpus_);
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  std::string const& one_of(std::vector<std::string> const& texts) {
    return texts[below(texts.size())];
  }

  void change(std::string& text) {
    std::size_t const at = below(text.size() + 1);
    std::size_t const length = below(std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(9)) {
      case 0: text.insert(at, 1, static_cast<char>(random_())); break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(at, one_of(tokens_)); break;
      case 4: text.replace(at, length, one_of(tokens_)); break;
      case 5: text.insert(below(text.size() + 1), std::string{text, at, length}); break;
      case 6: {
        std::string const& other = one_of(corpus_);
        text.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
        break;
      }
      case 7: text.resize(at); break;
      default: {
        // Depth and length, which recursion and quadratic searches do not stand.
        std::string const piece =
            length > 0 && below(2) == 0 ? text.substr(at, length % 8 + 1) : one_of(tokens_);
        std::string repeated;
        for (std::size_t n = std::size_t{1} << below(14); n > 0 && repeated.size() < 200'000; --n)
          repeated += piece;
        text.insert(at, repeated);
      }
    }
  }

  std::vector<std::string> corpus_;
  std::vector<std::string> tokens_;
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

inline volatile std::uint64_t fuzzed_input = 0;

/// Names the input at fault in place of a death without a word.
inline void name_input(int signal) {
  char text[96];
  int const n = std::snprintf(text, sizeof text, "fuzz: signal %d at input %llu\n", signal,
                              static_cast<unsigned long long>(fuzzed_input));
  if (n > 0) [[maybe_unused]]
    auto const written = write(2, text, static_cast<std::size_t>(n));
  _exit(1);
}

/// Tries one input, which may take ten seconds of processors, on a machine as busy as may be, and 4 GiB of
/// address space; a sanitizer needs ten times as long and the address space itself.
template <class TryIt>
void fuzz_one(std::uint64_t number, TryIt&& try_it) {
  // On a stack of its own: the other may be what overflowed.
  static char stack[1 << 16];
  stack_t const other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = name_input;
  action.sa_flags = SA_ONSTACK;
  for (int const signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGPROF})
    sigaction(signal, &action, nullptr);
#ifdef __SANITIZE_ADDRESS__
  constexpr int kLimit = 100;
#else
  constexpr int kLimit = 10;
  rlimit const limit{std::size_t{4} << 30, std::size_t{4} << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
  fuzzed_input = number;
  itimerval limit_s{.it_interval = {}, .it_value = {.tv_sec = kLimit, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit_s, nullptr);
  try_it();
  limit_s = {};
  setitimer(ITIMER_PROF, &limit_s, nullptr);
}

/// Calls try_one(number) for 0, 1, ... until `seconds` are over, or QUADRILLE_FUZZ_SECONDS;
/// QUADRILLE_FUZZ_FIRST starts at another number. How many it were.
template <class TryOne>
std::uint64_t fuzz(double seconds, TryOne&& try_one) {
  if (char const* const text = std::getenv("QUADRILLE_FUZZ_SECONDS")) seconds = std::atof(text);
  char const* const from = std::getenv("QUADRILLE_FUZZ_FIRST");
  std::uint64_t const first = from != nullptr ? std::strtoull(from, nullptr, 10) : 0;
  auto const start = std::chrono::steady_clock::now();
  std::uint64_t number = first;
  for (; std::chrono::steady_clock::now() - start < std::chrono::duration<double>{seconds};
       ++number) {
    fuzz_one(number, [&] { try_one(number); });
  }
  return number - first;
}

/// Whether a message is one line that a terminal shows as it is, of a bearable length.
inline bool is_one_clear_line(std::string const& text) {
  for (char const c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return !text.empty() && text.size() < 2000;
}

}  // namespace quadrille::test
