// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// `quadrille run` or `check` with a rank that goes wrong once it has entered a phase:
//   phase_fault PHASE FAULT FILE SET...
//   phase_fault PHASE FAULT check OPTION...
// PHASE is the end of a phase's name; the last rank is the culprit. Prints "in PHASE" before.
#include "comm/job_guard.hpp"
#include "comm/world.hpp"
#include "commands/commands.hpp"
#include "commands/run.hpp"
#include "device/host/parallel.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace {

using namespace quadrille;

std::string_view g_phase, g_fault;
std::atomic<bool> g_kernels_spin{false};

bool is_culprit() {
  comm::LauncherFacts const launcher = comm::read_launcher();
  return launcher.rank == launcher.size - 1;
}

void go_wrong_in(std::string_view phase) {
  if (!phase.ends_with(g_phase) || !is_culprit()) return;
  std::fprintf(stderr, "in %.*s\n", static_cast<int>(phase.size()), phase.data());
  if (g_fault == "killed") std::raise(SIGKILL);
  if (g_fault == "signalled") std::raise(SIGUSR1);
  if (g_fault == "stopped") std::raise(SIGSTOP);
  if (g_fault == "throws") throw std::runtime_error{"nobody catches this"};
  if (g_fault == "absent") std::this_thread::sleep_for(std::chrono::hours{1});
  if (g_fault == "spins") g_kernels_spin = true;
}

}  // namespace

// The linker puts these in the place of the functions whose names they wrap.
extern "C" {
void __real__ZN9quadrille4comm8JobGuard11enter_phaseENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEd(
    comm::JobGuard* guard, std::string phase, double limit_s);
void __wrap__ZN9quadrille4comm8JobGuard11enter_phaseENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEd(
    comm::JobGuard* guard, std::string phase, double limit_s);
void __wrap__ZN9quadrille4comm8JobGuard11enter_phaseENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEd(
    comm::JobGuard* guard, std::string phase, double limit_s) {
  __real__ZN9quadrille4comm8JobGuard11enter_phaseENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEd(
      guard, phase, limit_s);
  go_wrong_in(phase);
}

void __real__ZN9quadrille6device12parallel_forENS0_10StreamViewElRKSt8functionIFvlEENS0_8ScheduleE(
    device::StreamView stream, std::int64_t n, std::function<void(std::int64_t)> const& body,
    device::Schedule schedule);
void __wrap__ZN9quadrille6device12parallel_forENS0_10StreamViewElRKSt8functionIFvlEENS0_8ScheduleE(
    device::StreamView stream, std::int64_t n, std::function<void(std::int64_t)> const& body,
    device::Schedule schedule);
void __wrap__ZN9quadrille6device12parallel_forENS0_10StreamViewElRKSt8functionIFvlEENS0_8ScheduleE(
    device::StreamView stream, std::int64_t n, std::function<void(std::int64_t)> const& body,
    device::Schedule schedule) {
  while (g_kernels_spin) std::this_thread::yield();
  __real__ZN9quadrille6device12parallel_forENS0_10StreamViewElRKSt8functionIFvlEENS0_8ScheduleE(
      stream, n, body, schedule);
}
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  g_phase = argv[1];
  g_fault = argv[2];
  if (argv[3] == std::string_view{"check"}) {
    CLI::App app;
    commands::Action action;
    commands::add_check(app, action);
    app.parse(argc - 2, argv + 2);
    return static_cast<int>(action(argc, argv));
  }
  commands::RunArguments arguments;
  arguments.file = argv[3];
  arguments.sets.assign(argv + 4, argv + argc);
  go_wrong_in("start");
  return static_cast<int>(commands::run(arguments, argc, argv));
}
