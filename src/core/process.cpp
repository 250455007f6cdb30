// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/process.hpp"

#include "core/error.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

namespace quadrille::core {
namespace {

// On a terminal that went away, glibc's fwrite() counts what it could not write, and leaves nothing
// for fflush() to fail on.
bool put(std::string_view text) noexcept {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::ferror(stdout) == 0;
}
bool flushed() noexcept { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

void require_output(bool done) {
  if (!done) fail(fmt::format("standard output: {}", std::strerror(errno)));
}

// With less, threads of the libraries do not start, or never end: OpenBLAS waits at exit for one that asks for
// memory again and again.
constexpr rlim_t kMinAddressSpace = rlim_t{640} << 20;

void require_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kMinAddressSpace) return;
  write_error(fmt::format(
      "quadrille: this process may map {} KiB of memory, its libraries take {}; raise ulimit -v\n",
      limit.rlim_cur >> 10, kMinAddressSpace >> 10));
  _exit(static_cast<int>(Exit::environment));
}

}  // namespace

void set_up_process() {
  // Open for reading alone, standard output still says that it takes nothing.
  for (int const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    bool const is_closed = fcntl(stream, F_GETFD) < 0;
    if (is_closed) open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
  require_address_space();
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(fail_on_exception);
}

void write_output(std::string_view text) { require_output(put(text)); }

bool show_output(std::string_view text) noexcept { return put(text) && flushed(); }

void write_error(std::string_view text) noexcept {
  [[maybe_unused]] ssize_t const written = write(STDERR_FILENO, text.data(), text.size());
}

std::string shown_place([[maybe_unused]] std::source_location const& where) {
#ifdef NDEBUG
  return {};
#else
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
  return fmt::format(" ({}:{})", file, where.line());
#endif
}

void flush_output() { require_output(flushed()); }

void fail_on_exception() {
  std::string what = "std::terminate without an exception";
  if (std::exception_ptr const thrown = std::current_exception()) {
    // The language offers no other way to the text of an exception that nobody catches.
    try {
      std::rethrow_exception(thrown);
    } catch (std::system_error const& error) {
      bool const lacks_threads = error.code() == std::errc::resource_unavailable_try_again;
      if (lacks_threads) {
        fail(
            "cannot start a thread: the limit of processes is reached; raise it (ulimit -u, or the "
            "job's pids.max)",
            Exit::environment);
      }
      what = fmt::format("uncaught exception: {}", error.what());
    } catch (std::exception const& error) {
      what = fmt::format("uncaught exception: {}", error.what());
    } catch (...) {
      what = "uncaught exception of an unknown type";
    }
  }
  fail(what);
}

}  // namespace quadrille::core
