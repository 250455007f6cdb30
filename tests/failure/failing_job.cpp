// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "comm/world.hpp"
#include "core/error.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

// Ends badly in the way that its argument names; end_of_job.sh looks at the end.
int main(int argc, char** argv) {
  using namespace quadrille;
  std::string_view const mode = argc > 1 ? argv[1] : "";
  bool const is_stopped = mode == "stopped" && comm::read_launcher().rank == 1;
  if (is_stopped) std::raise(SIGSTOP);
  comm::World world{argc, argv, mode == "stopped" ? 2.0 : 60.0};
  world.require_launcher();
  bool const is_last = world.rank() == world.size() - 1;
  // A folder that all nodes see, where they share nothing else.
  char const* const folder = std::getenv("QUADRILLE_TEST_FOLDER");
  world.on_abort(folder == nullptr ? "" : folder, [] {
    std::puts("TABLE");
    std::fflush(stdout);
  });
  world.enter_phase("sabotage", mode == "hang" || mode == "all_hang" ? 1.0 : 0);

  if (mode == "one" && is_last) core::fail("one rank fails");
  if (mode == "all") core::fail("all ranks fail", core::Exit::environment);
  if (mode == "thread" && is_last) {
    std::thread{[] { core::fail("a thread fails"); }}.join();
  }
  if (mode == "throw" && is_last) throw std::runtime_error{"nobody catches this"};
  if (mode == "throw_in_thread" && is_last) {
    std::thread{[] { throw std::runtime_error{"nobody catches this"}; }}.join();
  }
  if (mode == "exit" && is_last) std::exit(1);
  if (mode == "_exit" && is_last) _exit(1);
  if (mode == "hang" && is_last) std::this_thread::sleep_for(std::chrono::hours{1});
  if (mode == "all_hang") std::this_thread::sleep_for(std::chrono::hours{1});
  world.group().barrier();

  if (mode == "signalled_twice" || mode == "finishing") {
    // Nobody looks at the signals.
    if (mode == "finishing") world.finish();
    for (int i = 0; i < 2; ++i) {
      if (is_last || mode == "finishing") std::raise(SIGUSR1);
      std::this_thread::sleep_for(std::chrono::seconds{2});
    }
    if (mode == "signalled_twice") std::this_thread::sleep_for(std::chrono::minutes{1});
  }
  if (mode == "phase_in_time") {
    world.enter_phase("short", 0.3);
    world.enter_phase("long", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds{600});
  }
  std::puts("reached the end");
  return 0;
}
