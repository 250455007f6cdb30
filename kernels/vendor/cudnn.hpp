// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/types.hpp"
#include "device/views.hpp"

#if defined(QUADRILLE_CUDA_TOOLKIT) && __has_include(<cudnn.h>)
#include <cudnn.h>
#if CUDNN_MAJOR >= 9
#define QUADRILLE_CUDNN
#endif
#endif

#ifdef QUADRILLE_CUDNN
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"
#include "device/device.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// For a function that only a build with the headers of cuDNN 9 has.
#define QUAD_CUDNN_LAUNCH(function) function
#else
#define QUAD_CUDNN_LAUNCH(function) nullptr
#endif

/// cuDNN's graphs for vendor lines: what they share is how the fastest of many plans is found.
namespace quadrille::kernels::cudnn {

/// The most that a plan may ask for.
inline constexpr std::int64_t kMaxWorkspace = std::int64_t{2} << 30;

#ifdef QUADRILLE_CUDNN

/// cuDNN, found at run time, with a handle for each stream, which is never destroyed. Thread safe.
class Library {
 public:
  static Library& instance();

  std::string const& why_absent() const { return library_.why_absent(); }
  /// As CUDNN_VERSION.
  std::size_t version() const { return get<decltype(cudnnGetVersion)>("cudnnGetVersion")(); }
  cudnnHandle_t handle(device::StreamView stream);
  /// One that nobody else has used, and that lives as long as it is owned.
  struct Destroy {
    void operator()(cudnnHandle_t handle) const noexcept;
  };
  using OwnHandle = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, Destroy>;
  OwnHandle fresh_handle(device::StreamView stream) const;

  /// A function of the library; Function is the type of its declaration.
  template <class Function>
  Function* get(char const* name) const {
    return library_.get<Function>(name);
  }

  /// Ends the job unless the call succeeded.
  void check(cudnnStatus_t status, char const* call) const;

 private:
  device::Library library_{{"libcudnn.so.9"}};
  std::mutex mutex_;
  std::map<cudaStream_t, cudnnHandle_t> handles_;
};

/// Owns a descriptor of the library.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  cudnnBackendDescriptor_t get() const { return raw_.get(); }

  template <class T>
  cudnnStatus_t try_set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                        std::vector<T> const& values) const {
    static auto* const set_attribute =
        Library::instance().get<decltype(cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
    return set_attribute(get(), name, type, static_cast<std::int64_t>(values.size()),
                         values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::vector<T> const& values) const {
    Library::instance().check(try_set(name, type, values), "cudnnBackendSetAttribute");
  }
  void set(cudnnBackendAttributeName_t name, Descriptor const& value) const {
    set<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {value.get()});
  }
  void set(cudnnBackendAttributeName_t name, bool value) const;

  cudnnStatus_t try_finalize() const;
  void finalize() const { Library::instance().check(try_finalize(), "cudnnBackendFinalize"); }

  /// Up to `values.size()` values, and how many there are; 0 where the library does not tell.
  template <class T>
  std::int64_t read(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    std::vector<T>& values) const {
    static auto* const get_attribute =
        Library::instance().get<decltype(cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
    std::int64_t count = 0;
    bool const is_known = get_attribute(get(), name, type, static_cast<std::int64_t>(values.size()),
                                        &count, values.data()) == CUDNN_STATUS_SUCCESS;
    return is_known ? count : 0;
  }

 private:
  struct Destroy {
    void operator()(void* raw) const noexcept;
  };
  std::unique_ptr<void, Destroy> raw_;
};

cudnnDataType_t data_type(core::DataType type);

/// Of an array's beginning, 256 bytes at the most.
std::int64_t alignment_of(device::MatrixView const& view);

/// A tensor of a graph, finalized. Extents and strides are those of its dimensions, in elements.
struct TensorSpec {
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> extents, strides;
  std::int64_t alignment = 16;  ///< in bytes
  bool is_virtual = false;      ///< between two operations, never in memory
  bool is_by_value = false;     ///< a number whose address is one of the host
};
/// Operations and what they refer to. First its parts are added, then it is finalized.
class Graph {
 public:
  Descriptor const& add_tensor(TensorSpec const& spec);
  /// Finalizes a descriptor that is no operation.
  Descriptor const& add_part(Descriptor part);
  void add_operation(Descriptor operation);
  void finalize(cudnnHandle_t handle);

  Descriptor const& descriptor() const { return graph_; }
  /// Of the tensors that have addresses.
  std::vector<std::int64_t> const& ids() const { return ids_; }

 private:
  std::deque<Descriptor> parts_;  // which stay where they are
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<std::int64_t> ids_;
  Descriptor graph_;
};

/// An execution plan and where it comes from.
struct Plan {
  Descriptor engine, configuration, plan;
  std::vector<std::int64_t> ids;
  std::int64_t workspace = 0;
  std::int64_t engine_index = -1;
};

/// The address of a tensor.
using Addresses = std::function<void*(std::int64_t id)>;

/// Enqueues one execution on the handle's stream.
cudnnStatus_t execute(Plan const& plan, Addresses const& addresses, void* workspace,
                      cudnnHandle_t handle);

/// What a search is for, and which plans it may try.
struct Search {
  std::string_view row;                                      ///< in messages: "conv2d/vendor"
  std::string_view what;                                     ///< in messages: "convolution"
  std::function<bool(Descriptor const& engine)> may_take{};  ///< all where it is empty
  bool has_fallback = true;  ///< also what heuristics name for where nothing else runs
};

/// Plans that run on a stream, the fastest first, a workspace for it, and how many were tried of how many.
/// Ends with the process.
struct Choice {
  struct Timed {
    Plan plan;
    double seconds = 0;  ///< of one execution
  };
  std::vector<Timed> plans;
  device::PooledBuffer<std::byte> workspace;
  std::size_t tried = 0, candidates = 0;
  std::string dropped{};  ///< those whose results were wrong
};
/// Times what the library's heuristics name for the graphs, which compute the same, the likeliest
/// first, as rank() does. Waits for the stream; ends the job where nothing runs.
Choice choose(std::vector<Graph> const& graphs, Addresses const& addresses, Search const& search,
              device::StreamView stream);

/// Enqueues one execution of the first plan. Ends the job where it fails.
void launch(Choice& choice, Addresses const& addresses, device::StreamView stream);

/// Drops the first plan, whose result was wrong; false where there is no other.
bool drop_plan(Choice& choice);

/// One execution by the first plan that the heuristics name and that runs, with this handle. Waits for it;
/// ends the job where nothing runs.
void run_first(std::vector<Graph> const& graphs, Addresses const& addresses, Search const& search,
               cudnnHandle_t handle, device::StreamView stream);

/// For Specifics::implementation; nothing without a choice.
std::string text_of(Choice const* choice);
/// For kernels::Library::seconds.
double seconds_of(Choice const* choice);

/// The choices of this process, by what decides them and by stream; never destroyed, as its descriptors
/// may not outlive the library.
template <class Key>
class Choices {
 public:
  /// Calls choose() where there is none yet.
  Choice& of(Key const& key, device::StreamView stream, std::function<Choice()> const& choose) {
    std::lock_guard const lock{mutex_};
    auto const [found, is_new] = choices_[key].try_emplace(device::cuda_stream(stream));
    if (is_new) found->second = choose();
    return found->second;
  }
  /// nullptr where none was made.
  Choice const* find(Key const& key) {
    std::lock_guard const lock{mutex_};
    auto const found = choices_.find(key);
    return found == choices_.end() ? nullptr : &found->second.begin()->second;
  }
  /// As kernels::Library::drop, on all streams.
  bool drop(Key const& key) {
    std::lock_guard const lock{mutex_};
    auto const found = choices_.find(key);
    if (found == choices_.end()) return false;
    bool is_dropped = false;
    for (auto& [stream, choice] : found->second) is_dropped |= drop_plan(choice);
    return is_dropped;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::map<cudaStream_t, Choice>> choices_;
};

#endif  // QUADRILLE_CUDNN

/// Why the library cannot be used here; empty where it can.
std::string why_absent();

}  // namespace quadrille::kernels::cudnn
