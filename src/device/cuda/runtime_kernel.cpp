// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "device/runtime_kernel.hpp"

#include "core/generator.hpp"
#include "core/user_cache.hpp"
#include "device/cuda/library.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

namespace quadrille::device {
namespace {

namespace fs = std::filesystem;

// The first line of a file of the cache. Another format of these files has another number.
constexpr std::string_view kMagic = "quadrille-kernel 1";

/// What kernels include of the standard library, for a compiler that has none.
constexpr SourceFile kStandard[] = {
    {"cstddef", "#pragma once\nnamespace std { using ::size_t; using ::ptrdiff_t; }\n"},
    {"cstdint",
     "#pragma once\nnamespace std {\n"
     "using int8_t = signed char; using int16_t = short; using int32_t = int; using int64_t = "
     "long;\n"
     "using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned;\n"
     "using uint64_t = unsigned long; using uintptr_t = unsigned long; using intptr_t = "
     "long;\n}\n"},
    {"type_traits",
     "#pragma once\nnamespace std {\n"
     "template <class A, class B> inline constexpr bool is_same_v = false;\n"
     "template <class A> inline constexpr bool is_same_v<A, A> = true;\n"
     "template <class A> struct type_identity { using type = A; };\n"
     "template <class A> using type_identity_t = typename type_identity<A>::type;\n"
     "template <bool, class A, class B> struct conditional { using type = A; };\n"
     "template <class A, class B> struct conditional<false, A, B> { using type = B; };\n"
     "template <bool b, class A, class B> using conditional_t = typename conditional<b, A, "
     "B>::type;\n"
     "}\n"}};

constexpr std::span<SourceFile const> kStandardHeaders{kStandard};

/// NVRTC, found at run time; declared because the header is not part of every toolkit.
class Nvrtc {
 public:
  using Program = void*;

  static Nvrtc& instance() {
    static Nvrtc nvrtc;
    return nvrtc;
  }

  Library const library{{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
  int (*const version)(int*, int*) = find<int(int*, int*)>("nvrtcVersion");
  int (*const create)(Program*, char const*, char const*, int, char const* const*,
                      char const* const*) =
      find<int(Program*, char const*, char const*, int, char const* const*, char const* const*)>(
          "nvrtcCreateProgram");
  int (*const destroy)(Program*) = find<int(Program*)>("nvrtcDestroyProgram");
  int (*const add_name)(Program,
                        char const*) = find<int(Program, char const*)>("nvrtcAddNameExpression");
  int (*const compile)(Program, int, char const* const*) =
      find<int(Program, int, char const* const*)>("nvrtcCompileProgram");
  int (*const get_name)(Program, char const*, char const**) =
      find<int(Program, char const*, char const**)>("nvrtcGetLoweredName");
  int (*const get_log_size)(Program, std::size_t*) =
      find<int(Program, std::size_t*)>("nvrtcGetProgramLogSize");
  int (*const get_log)(Program, char*) = find<int(Program, char*)>("nvrtcGetProgramLog");
  int (*const get_code_size)(Program,
                             std::size_t*) = find<int(Program, std::size_t*)>("nvrtcGetCUBINSize");
  int (*const get_code)(Program, char*) = find<int(Program, char*)>("nvrtcGetCUBIN");

  std::string why_absent() const {
    if (!library.why_absent().empty()) {
      return library.why_absent() + "; install NVRTC or add its folder to LD_LIBRARY_PATH";
    }
    bool const is_complete = version != nullptr && create != nullptr && destroy != nullptr &&
                             add_name != nullptr && compile != nullptr && get_name != nullptr &&
                             get_log_size != nullptr && get_log != nullptr &&
                             get_code_size != nullptr && get_code != nullptr;
    return is_complete ? "" : "the library NVRTC lacks functions; install a newer one";
  }

 private:
  template <class Function>
  Function* find(char const* name) const {
    return library.find_optional<Function>(name);
  }
};

/// The options that all kernels of this program are compiled with.
std::vector<std::string> options_for(int compute_capability) {
  // From 9.0 on, instructions of one architecture alone have an "a".
  std::vector<std::string> options{
      fmt::format("-arch=sm_{}{}", compute_capability, compute_capability >= 90 ? "a" : ""),
      "-std=c++20", "-default-device", "-lineinfo"};
  if (char const* const home = std::getenv("CUDA_HOME")) {
    options.push_back(fmt::format("-I{}/include", home));
  }
  options.emplace_back("-I" QUADRILLE_CUDA_INCLUDE);
  return options;
}

/// All that the machine code depends on, as a number for the name of a file.
std::uint64_t key_of(KernelProgram const& program, std::vector<std::string> const& options) {
  std::uint64_t key = 0;
  auto const add = [&](std::string_view text) {
    key = core::mix(key + text.size());
    for (char const c : text) key = core::mix(key + static_cast<unsigned char>(c));
  };
  int major = 0, minor = 0;
  Nvrtc::instance().version(&major, &minor);
  add(fmt::format("{}.{}", major, minor));
  add(program.header);
  add(program.kernel);
  for (std::string const& option : options) add(option);
  for (std::span<SourceFile const> const files : {program.files, kStandardHeaders}) {
    for (SourceFile const& file : files) {
      add(file.name);
      add(file.text);
    }
  }
  return key;
}

/// What an earlier run left; code of another kernel or half a file is as good as none.
bool read(fs::path const& path, std::string_view kernel, CompiledKernel& found) {
  std::ifstream file{path, std::ios::binary};
  std::string magic, of, size;
  if (!std::getline(file, magic) || magic != kMagic || !std::getline(file, of) || of != kernel ||
      !std::getline(file, found.name) || !std::getline(file, size)) {
    return false;
  }
  std::ostringstream code;
  code << file.rdbuf();
  found.code = code.str();
  found.is_cached = fmt::format("{}", found.code.size()) == size && !found.code.empty();
  return found.is_cached;
}

/// A cache that cannot be written costs time, and nobody needs to be told.
void write(fs::path const& path, std::string_view kernel, CompiledKernel const& compiled) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  fs::path const temporary = path.string() + fmt::format(".{}.tmp", getpid());
  {
    std::ofstream file{temporary, std::ios::binary};
    file << kMagic << '\n'
         << kernel << '\n'
         << compiled.name << '\n'
         << compiled.code.size() << '\n'
         << compiled.code << std::flush;
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(temporary, path, error);
  if (error) fs::remove(temporary, error);
}

/// The first error of a log, or all of it.
std::string first_error(std::string const& log) {
  std::size_t const at = log.find("error");
  if (at == std::string::npos) return log;
  std::size_t const line = log.rfind('\n', at);
  std::size_t const begin = line == std::string::npos ? 0 : line + 1;
  return log.substr(begin, log.find('\n', at) - begin);
}

core::Parsed<CompiledKernel> compile_now(KernelProgram const& program,
                                         std::vector<std::string> const& options) {
  Nvrtc const& nvrtc = Nvrtc::instance();
  std::vector<std::string> owned;  // texts as the library takes them
  std::vector<char const*> texts, names, arguments;
  std::size_t const count = program.files.size() + kStandardHeaders.size();
  owned.reserve(2 * count);
  for (std::span<SourceFile const> const files : {program.files, kStandardHeaders}) {
    for (SourceFile const& file : files) {
      texts.push_back(owned.emplace_back(file.text).c_str());
      names.push_back(owned.emplace_back(file.name).c_str());
    }
  }
  for (std::string const& option : options) arguments.push_back(option.c_str());
  std::string const source = fmt::format("#include \"{}\"\n", program.header);
  Nvrtc::Program handle = nullptr;
  int status = nvrtc.create(&handle, source.c_str(), "tuned.cu", static_cast<int>(count),
                            texts.data(), names.data());
  CompiledKernel compiled;
  char const* name = nullptr;
  std::size_t size = 0;
  if (status == 0) status = nvrtc.add_name(handle, program.kernel.c_str());
  if (status == 0) {
    status = nvrtc.compile(handle, static_cast<int>(arguments.size()), arguments.data());
  }
  if (status == 0) status = nvrtc.get_name(handle, program.kernel.c_str(), &name);
  if (status == 0) compiled.name = name;
  if (status == 0) status = nvrtc.get_code_size(handle, &size);
  if (status == 0) {
    compiled.code.resize(size);
    status = nvrtc.get_code(handle, compiled.code.data());
  }
  std::string log;
  if (handle != nullptr && nvrtc.get_log_size(handle, &size) == 0 && size > 1) {
    log.resize(size);
    nvrtc.get_log(handle, log.data());
    log.resize(size - 1);  // its last character ends it
  }
  if (handle != nullptr) nvrtc.destroy(&handle);
  if (status == 0) return compiled;
  return core::Parsed<CompiledKernel>::error(fmt::format("NVRTC does not compile {}: error {}: {}",
                                                         program.kernel, status, first_error(log)));
}

/// Why no block of so many threads of a loaded kernel can be launched; empty where it can.
std::string launch_problem(cudaKernel_t kernel, int threads) {
  cudaFuncAttributes attributes{};
  cudaError_t const status =
      cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel));
  if (status != cudaSuccess) return cudaGetErrorString(status);
  if (attributes.maxThreadsPerBlock >= threads) return {};
  return fmt::format("its {} registers leave room for {} threads, not {}", attributes.numRegs,
                     attributes.maxThreadsPerBlock, threads);
}

core::Parsed<void const*> load(CompiledKernel const& compiled, std::string const& kernel,
                               int threads) {
  cudaLibrary_t library{};
  cudaKernel_t loaded{};
  cudaError_t status =
      cudaLibraryLoadData(&library, compiled.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == cudaSuccess) {
    status = cudaLibraryGetKernel(&loaded, library, compiled.name.c_str());
  }
  std::string const problem =
      status == cudaSuccess ? launch_problem(loaded, threads) : cudaGetErrorString(status);
  [[maybe_unused]] cudaError_t const cleared = cudaGetLastError();
  if (problem.empty()) return reinterpret_cast<void const*>(loaded);
  return core::Parsed<void const*>::error(fmt::format("cannot load {}: {}", kernel, problem));
}

}  // namespace

std::string runtime_compiler_absent() { return Nvrtc::instance().why_absent(); }

core::Parsed<CompiledKernel> compile(KernelProgram const& program, int compute_capability,
                                     std::string const& cache) {
  std::string const absent = runtime_compiler_absent();
  if (!absent.empty()) return core::Parsed<CompiledKernel>::error(absent);
  std::vector<std::string> const options = options_for(compute_capability);
  fs::path const path = fs::path{cache} / fmt::format("{:016x}.cubin", key_of(program, options));
  CompiledKernel found;
  if (!cache.empty() && read(path, program.kernel, found)) return found;
  core::Parsed<CompiledKernel> const compiled = compile_now(program, options);
  if (compiled && !cache.empty()) write(path, program.kernel, *compiled);
  return compiled;
}

core::Parsed<void const*> runtime_kernel(KernelProgram const& program, int threads,
                                         Facts const& device) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, core::Parsed<void const*>> loaded;
  std::pair const key{program.kernel, device.compute_capability};
  {
    std::lock_guard const lock{mutex};
    auto const found = loaded.find(key);
    if (found != loaded.end()) return found->second;
  }
  std::string const folder = core::user_cache();
  core::Parsed<CompiledKernel> const compiled =
      compile(program, device.compute_capability, folder.empty() ? "" : folder + "/kernels");
  core::Parsed<void const*> const kernel = compiled
                                               ? load(*compiled, program.kernel, threads)
                                               : core::Parsed<void const*>::error(compiled.why());
  std::lock_guard const lock{mutex};
  return loaded.try_emplace(key, kernel).first->second;
}

}  // namespace quadrille::device
