// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/whole_file.hpp"

#include "core/process.hpp"
#include "core/units.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace quadrille::io {

namespace fs = std::filesystem;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

bool is_same_file(struct stat const& a, struct stat const& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// The path that links lead to, whether or not something is there.
fs::path follow_links(fs::path path) {
  constexpr int kMaxLinks = 40;  // as Linux
  std::error_code none;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(path, none); ++i) {
    path = path.parent_path() / fs::read_symlink(path, none);
  }
  return path;
}

struct Place {
  enum class Kind { absent, file, stream, other };
  Kind kind = Kind::absent;
  std::string path;       ///< of a file, also an absent one: behind all links
  mode_t mode = 0;        ///< of a file
  char const* what = "";  ///< of another kind
};

Place place_of(std::string const& path) {
  struct stat there {};
  std::string const target = follow_links(path).string();
  if (stat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {Place::Kind::absent, target};
    return {Place::Kind::other, path, 0, std::strerror(errno)};
  }
  switch (there.st_mode & S_IFMT) {
    case S_IFDIR: return {Place::Kind::other, path, 0, "it is a directory"};
    case S_IFBLK: return {Place::Kind::other, path, 0, "it is a disk"};
    case S_IFSOCK: return {Place::Kind::other, path, 0, "it is a socket"};
    case S_IFREG: break;
    default: return {Place::Kind::stream, path};
  }
  // A descriptor in /proc may lead to a file that has no name any more.
  struct stat named {};
  bool const has_name = stat(target.c_str(), &named) == 0 && is_same_file(there, named);
  return {has_name ? Place::Kind::file : Place::Kind::stream, target, there.st_mode & 07777};
}

/// The reason why a file cannot be made beside others of `path`.
std::string unwritable_folder(std::string const& path) {
  std::error_code error;
  fs::path const folder = fs::absolute(path, error).parent_path();
  if (fs::is_directory(folder, error) && access(folder.c_str(), W_OK) == 0) return {};
  return fmt::format(
      "no file can be written to '{}'; name one in a directory that you can write to",
      folder.string());
}

/// Whether a file has nothing to lose to one that begins so.
bool is_replaceable(std::string const& path, std::optional<std::string_view> begin) {
  std::ifstream file{path, std::ios::binary};
  if (file.peek() == std::ifstream::traits_type::eof()) return true;
  std::string found(begin.value_or("").size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  return begin && file && found == *begin;
}

/// Makes a file beside `path` with these bytes, in the storage. Its name, or why there is none.
core::Parsed<std::string> write_beside(std::string const& path, std::string_view bytes,
                                       std::optional<mode_t> mode = std::nullopt) {
  using Result = core::Parsed<std::string>;
  std::string temporary = fmt::format("{}.tmp.{}", path, getpid());
  std::remove(temporary.c_str());  // of a process that had our number and was killed
  int const file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    bool const is_too_many = errno == EMFILE || errno == ENFILE;
    return Result::error(fmt::format("{}: cannot create: {}; {}", path, std::strerror(errno),
                                     is_too_many
                                         ? "raise their limit (ulimit -n)"
                                         : "choose an output directory that can be written"));
  }
  if (mode) std::ignore = fchmod(file, *mode);
  bool const written = write_all(file, bytes) && fsync(file) == 0;
  int const error = errno;
  bool const closed = close(file) == 0;
  if (written && closed) return temporary;
  std::string const why = std::strerror(written ? errno : error);
  std::remove(temporary.c_str());
  return Result::error(fmt::format("{}: cannot be written: {}", path, why));
}

std::string write_stream(std::string const& path, std::string_view bytes) {
  int const file = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  bool const written = file >= 0 && write_all(file, bytes);
  int const error = errno;
  bool const closed = file >= 0 && close(file) == 0;
  if (written && closed) return {};
  return fmt::format("{}: cannot be written: {}", path, std::strerror(written ? errno : error));
}

std::string unnamed_reason(std::string const& temporary, std::string const& path) {
  return fmt::format("{}: cannot be given its name: {}; the data are in {}", path,
                     std::strerror(errno), temporary);
}

}  // namespace

bool is_standard_output(std::string const& path) {
  struct stat there {
  }, output{};
  return path == "-" || (stat(path.c_str(), &there) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
                         is_same_file(there, output));
}

bool name_same_place(std::string const& a, std::string const& b) {
  if (is_standard_output(a) || is_standard_output(b)) {
    return is_standard_output(a) && is_standard_output(b);
  }
  struct stat there_a {
  }, there_b{};
  bool const is_a = stat(a.c_str(), &there_a) == 0, is_b = stat(b.c_str(), &there_b) == 0;
  if (is_a && is_b) return is_same_file(there_a, there_b) && !S_ISCHR(there_a.st_mode);
  std::error_code none;
  return !is_a && !is_b &&
         fs::weakly_canonical(follow_links(a), none) == fs::weakly_canonical(follow_links(b), none);
}

std::string unwritable_reason(std::string const& path, std::optional<std::string_view> begin) {
  if (is_standard_output(path)) return {};
  Place const place = place_of(path);
  switch (place.kind) {
    case Place::Kind::absent: return unwritable_folder(place.path);
    case Place::Kind::other:
      return fmt::format("'{}' cannot be written: {}; name a file", path, place.what);
    case Place::Kind::stream:
    case Place::Kind::file: break;
  }
  if (access(path.c_str(), W_OK) != 0) {
    return fmt::format("'{}' cannot be written: {}; name another file", path, std::strerror(errno));
  }
  if (place.kind == Place::Kind::stream) return {};
  if (!is_replaceable(place.path, begin)) {
    return fmt::format("'{}' exists already{}; name another file", path,
                       begin ? " and is something else" : "");
  }
  return unwritable_folder(place.path);
}

std::string write_whole_file(std::string const& path, std::string_view bytes) {
  core::Parsed<std::string> const temporary = write_beside(path, bytes);
  return temporary ? publish(*temporary, path) : temporary.why();
}

std::string replace_whole_file(std::string const& path, std::string_view bytes) {
  if (is_standard_output(path)) {
    core::write_output(bytes);
    return {};
  }
  Place const place = place_of(path);
  if (place.kind == Place::Kind::stream) return write_stream(path, bytes);
  if (place.kind == Place::Kind::other) {
    return fmt::format("{}: cannot be written: {}", path, place.what);
  }
  std::optional<mode_t> const mode =
      place.kind == Place::Kind::file ? std::optional{place.mode} : std::nullopt;
  core::Parsed<std::string> const temporary = write_beside(place.path, bytes, mode);
  if (!temporary) return temporary.why();
  bool const is_named = std::rename(temporary->c_str(), place.path.c_str()) == 0;
  return is_named ? std::string{} : unnamed_reason(*temporary, path);
}

std::string publish(std::string const& temporary, std::string const& path) {
  // Some file systems (NFS) cannot refuse to replace; there, look first.
  bool done = renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0;
  if (!done && errno == EINVAL) {
    done = access(path.c_str(), F_OK) != 0 && std::rename(temporary.c_str(), path.c_str()) == 0;
    if (!done && access(path.c_str(), F_OK) == 0) errno = EEXIST;
  }
  return done ? std::string{} : unnamed_reason(temporary, path);
}

}  // namespace quadrille::io
