// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/units.hpp"
#include "device/code_architecture.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/execution_place.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/stream.hpp"
#include "device/device.hpp"
#include "device/driver.hpp"
#include "device/experiments.hpp"
#include "device/gate.hpp"
#include "device/host/topology.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>

namespace quadrille::device {
namespace {

// Releases run at the end of a program too, after an error or when the driver is already gone:
// there is nothing to do about a status then.
void ignore(cudaError_t) {}

class CudaEvent final : public EventBackend {
 public:
  CudaEvent() { QUAD_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDefault)); }
  ~CudaEvent() override { ignore(cudaEventDestroy(event_)); }
  CudaEvent(CudaEvent const&) = delete;
  CudaEvent& operator=(CudaEvent const&) = delete;

  bool done() const override {
    cudaError_t const status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      ignore(cudaGetLastError());  // or the next check of a launch reports it
      return false;
    }
    QUAD_CUDA(status);
    return true;
  }
  void synchronize() const override { QUAD_CUDA(cudaEventSynchronize(event_)); }
  double seconds_since(EventBackend const& earlier) const override {
    float milliseconds = 0;
    QUAD_CUDA(
        cudaEventElapsedTime(&milliseconds, static_cast<CudaEvent const&>(earlier).event_, event_));
    return static_cast<double>(milliseconds) * 1e-3;
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A word of pinned host memory that the GPU reads in place.
class CudaFlag final : public FlagBackend {
 public:
  CudaFlag() {
    void* word = nullptr;
    QUAD_CUDA(
        cudaHostAlloc(&word, sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable));
    word_ = static_cast<std::uint32_t*>(word);
    set(0);
    QUAD_CUDA(cudaHostGetDevicePointer(&device_word_, word, 0));
  }
  ~CudaFlag() override { ignore(cudaFreeHost(word_)); }
  CudaFlag(CudaFlag const&) = delete;
  CudaFlag& operator=(CudaFlag const&) = delete;

  void set(std::uint32_t value) override {
    std::atomic_ref{*word_}.store(value, std::memory_order_release);
  }
  std::uint32_t get() const override {
    return std::atomic_ref{*word_}.load(std::memory_order_acquire);
  }
  void* device_word() const { return device_word_; }

 private:
  std::uint32_t* word_ = nullptr;
  void* device_word_ = nullptr;
};

// The driver's function, asked of the runtime: linking libcuda would keep the program from starting
// on a machine without a driver.
template <class Function>
Function driver_function(char const* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  QUAD_CUDA(cudaGetDriverEntryPointByVersion(name, &function, 11070, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    core::fail(fmt::format("the NVIDIA driver lacks {}; install one for CUDA 11.7 or later", name),
               core::Exit::environment);
  }
  return reinterpret_cast<Function>(function);
}

/// Wait for a word and set it, in the order of a stream.
struct StreamWords {
  PFN_cuStreamWaitValue32_v11070 wait = nullptr;
  PFN_cuStreamWriteValue32_v11070 set = nullptr;
};

StreamWords stream_words() {
  return {driver_function<PFN_cuStreamWaitValue32_v11070>("cuStreamWaitValue32"),
          driver_function<PFN_cuStreamWriteValue32_v11070>("cuStreamWriteValue32")};
}

// Driver and runtime number their errors alike.
void check_driver(CUresult status, char const* call) {
  if (status != CUDA_SUCCESS) fail_cuda(static_cast<cudaError_t>(status), call);
}

class CudaStream final : public StreamBackend {
 public:
  CudaStream(Device& device, int priority, StreamWords const& words,
             unsigned flags = cudaStreamNonBlocking)
      : device_{device}, words_{words} {
    QUAD_CUDA(cudaStreamCreateWithPriority(&stream_, flags, priority));
  }
  /// The legacy default stream, which nobody owns.
  CudaStream(Device& device, StreamWords const& words)
      : device_{device}, words_{words}, stream_{cudaStreamLegacy} {}
  ~CudaStream() override {
    ignore(cudaStreamSynchronize(stream_));
    execution_.reset();
    if (stream_ != cudaStreamLegacy) ignore(cudaStreamDestroy(stream_));
  }
  CudaStream(CudaStream const&) = delete;
  CudaStream& operator=(CudaStream const&) = delete;

  Device& device() override { return device_; }
  void copy(void* to, void const* from, std::size_t bytes) override {
    QUAD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
  }
  void copy_2d(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
               std::size_t row_bytes, std::size_t rows) override {
    // CUDA limits pitches to 2 GiB, which a single row or a dense block need not respect.
    if (rows == 1 || (to_pitch == row_bytes && from_pitch == row_bytes)) {
      return copy(to, from, row_bytes * rows);
    }
    QUAD_CUDA(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, row_bytes, rows, cudaMemcpyDefault,
                                stream_));
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    QUAD_CUDA(cudaMemsetAsync(to, value, bytes, stream_));
  }
  void record(Event& event) override {
    QUAD_CUDA(cudaEventRecord(static_cast<CudaEvent*>(event.backend())->get(), stream_));
  }
  void wait(Event const& event) override {
    QUAD_CUDA(cudaStreamWaitEvent(stream_, static_cast<CudaEvent*>(event.backend())->get(), 0));
  }
  void wait(Flag const& flag, std::uint32_t value) override {
    wait(static_cast<std::uint32_t const*>(static_cast<CudaFlag*>(flag.backend())->device_word()),
         value);
  }
  void wait(std::uint32_t const* word, std::uint32_t value) override {
    check_driver(
        words_.wait(stream_, reinterpret_cast<CUdeviceptr>(word), value, CU_STREAM_WAIT_VALUE_GEQ),
        "cuStreamWaitValue32");
  }
  void set(std::uint32_t* word, std::uint32_t value) override {
    // Behind a barrier, which is the default: earlier copies are seen by whoever sees the word.
    check_driver(words_.set(stream_, reinterpret_cast<CUdeviceptr>(word), value,
                            CU_STREAM_WRITE_VALUE_DEFAULT),
                 "cuStreamWriteValue32");
  }
  void run(std::function<void()> task) override {
    auto owned = std::make_unique<std::function<void()>>(std::move(task));
    cudaHostFn_t const call = [](void* data) {
      std::unique_ptr<std::function<void()>> const mine{static_cast<std::function<void()>*>(data)};
      (*mine)();
    };
    QUAD_CUDA(cudaLaunchHostFunc(stream_, call, owned.get()));
    [[maybe_unused]] auto* const given_away = owned.release();
  }
  void synchronize() override { QUAD_CUDA(cudaStreamSynchronize(stream_)); }
  cudaStream_t get() const { return stream_; }
  std::shared_ptr<void>& execution() { return execution_; }

 private:
  Device& device_;
  StreamWords const& words_;
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<void> execution_;
};

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  QUAD_CUDA(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

std::string uuid_text(cudaUUID_t const& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : facts_{cuda_device_facts(index)}, nvml_{facts_.uuid} {
    bind_thread();
    int least = 0, greatest = 0;
    QUAD_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    normal_ = least;
    high_ = greatest;
    words_ = stream_words();
    // Memory given back to the pool stays there; else every allocation would ask the driver anew.
    cudaMemPool_t pool = nullptr;
    std::uint64_t keep = UINT64_MAX;
    if (attribute(cudaDevAttrMemoryPoolsSupported, index) != 0) {
      QUAD_CUDA(cudaDeviceGetDefaultMemPool(&pool, index));
      QUAD_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    }
  }

  Kind kind() const override { return Kind::cuda; }
  Facts const& facts() const override { return facts_; }
  std::size_t free_memory() const override {
    std::size_t free = 0, total = 0;
    QUAD_CUDA(cudaMemGetInfo(&free, &total));
    return free;
  }
  std::optional<Telemetry> telemetry() override { return nvml_.read(); }
  double busy_before() const override { return busy_before_; }
  std::vector<ErrorCounter> error_counters() override { return nvml_.error_counters(); }
  PcieLink pcie_link() const override { return nvml_.pcie_link(); }
  GpuSettings settings() const override { return nvml_.settings(); }
  Link link_to(std::string const& uuid) const override { return nvml_.link_to(uuid); }
  void bind_thread() override { QUAD_CUDA(cudaSetDevice(facts_.index)); }

  std::unique_ptr<StreamBackend> make_stream(Priority priority, std::string const&) override {
    return std::make_unique<CudaStream>(*this, priority == Priority::high ? high_ : normal_,
                                        words_);
  }
  std::unique_ptr<EventBackend> make_event() override { return std::make_unique<CudaEvent>(); }
  std::unique_ptr<FlagBackend> make_flag() override { return std::make_unique<CudaFlag>(); }

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    cudaError_t const status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) fail_memory(bytes);
    QUAD_CUDA(status);
    return memory;
  }
  void release(void* memory) noexcept override { ignore(cudaFree(memory)); }
  core::Parsed<void*> allocate_shared(std::size_t bytes) override {
    // Smaller allocations share what is opened as a whole.
    constexpr std::size_t kWhole = 2UL << 20;
    return allocate((bytes + kWhole - 1) / kWhole * kWhole);
  }
  void release_shared(void* memory) noexcept override { release(memory); }
  core::Parsed<std::string> handle_of(void* shared) override {
    cudaIpcMemHandle_t handle{};
    cudaError_t const status = cudaIpcGetMemHandle(&handle, shared);
    if (status == cudaSuccess) {
      return std::string{std::begin(handle.reserved), std::end(handle.reserved)};
    }
    return core::Parsed<std::string>::error(why_not_shared("cudaIpcGetMemHandle", status));
  }
  core::Parsed<void*> open_shared(std::string const& handle) override {
    cudaIpcMemHandle_t packed{};
    if (handle.size() != sizeof packed.reserved) {
      return core::Parsed<void*>::error("no handle of GPU memory");
    }
    std::ranges::copy(handle, std::begin(packed.reserved));
    void* memory = nullptr;
    cudaError_t const status =
        cudaIpcOpenMemHandle(&memory, packed, cudaIpcMemLazyEnablePeerAccess);
    if (status == cudaSuccess) return memory;
    return core::Parsed<void*>::error(why_not_shared("cudaIpcOpenMemHandle", status));
  }
  void close_shared(void* memory) noexcept override { ignore(cudaIpcCloseMemHandle(memory)); }
  void* allocate_pinned(std::size_t bytes) override {
    void* memory = nullptr;
    cudaError_t const status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      ignore(cudaGetLastError());
      core::fail(fmt::format("pinned host memory: asked {}, the system refused; lower "
                             "'chunk_bytes' or the size of the case, or raise the memory limit of "
                             "the job",
                             core::format_bytes(static_cast<double>(bytes))),
                 core::Exit::environment);
    }
    QUAD_CUDA(status);
    return memory;
  }
  void release_pinned(void* memory) noexcept override { ignore(cudaFreeHost(memory)); }
  void register_host(void* memory, std::size_t bytes) override {
    QUAD_CUDA(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
  }
  void unregister_host(void* memory) noexcept override { ignore(cudaHostUnregister(memory)); }
  void* allocate_ordered(std::size_t bytes, StreamView stream) override {
    void* memory = nullptr;
    cudaError_t const status =
        cudaMallocAsync(&memory, bytes, static_cast<CudaStream*>(stream.backend())->get());
    if (status == cudaErrorMemoryAllocation) fail_memory(bytes);
    QUAD_CUDA(status);
    return memory;
  }
  void release_ordered(void* memory, StreamView stream) noexcept override {
    ignore(cudaFreeAsync(memory, static_cast<CudaStream*>(stream.backend())->get()));
  }
  std::unique_ptr<StreamBackend> make_default_stream() override {
    return std::make_unique<CudaStream>(*this, words_);
  }
  std::unique_ptr<StreamBackend> make_blocking_stream() {
    return std::make_unique<CudaStream>(*this, 0, words_, cudaStreamDefault);
  }

 private:
  static std::string why_not_shared(char const* call, cudaError_t status) {
    ignore(cudaGetLastError());
    return fmt::format("{}: {} ({})", call, cudaGetErrorName(status), cudaGetErrorString(status));
  }
  [[noreturn]] void fail_memory(std::size_t bytes) const {
    ignore(cudaGetLastError());
    core::fail(fmt::format("memory of GPU {}: asked {}, {} are free; lower the size of the case",
                           facts_.index, core::format_bytes(static_cast<double>(bytes)),
                           core::format_bytes(static_cast<double>(free_memory()))),
               core::Exit::environment);
  }

  Facts facts_;
  Nvml nvml_;
  double busy_before_ = nvml_.utilization();
  int normal_ = 0;
  int high_ = 0;
  StreamWords words_;
};

}  // namespace

void fail_cuda(cudaError_t status, char const* call, std::source_location where) {
  int index = -1;
  ignore(cudaGetDevice(&index));
  ignore(cudaGetLastError());
  bool const lacks_code =
      status == cudaErrorNoKernelImageForDevice || status == cudaErrorUnsupportedPtxVersion;
  core::fail(fmt::format("{}: {} ({}), device {}{}", call, cudaGetErrorName(status),
                         cudaGetErrorString(status), index,
                         lacks_code ? "; configure with its compute capability in "
                                      "QUADRILLE_CUDA_ARCHITECTURES"
                                    : ""),
             core::Exit::runtime, where);
}

namespace {

CudaStream& backend_of(StreamView stream) {
  QUAD_REQUIRE(stream && stream.device().kind() == Kind::cuda,
               "a CUDA kernel needs a stream of a CUDA device");
  return *static_cast<CudaStream*>(stream.backend());
}

}  // namespace

cudaStream_t cuda_stream(StreamView stream) {
  count_call(stream, "launch");
  return backend_of(stream).get();
}

std::shared_ptr<void>& cuda_execution_place(StreamView stream) {
  return backend_of(stream).execution();
}

std::unique_ptr<Device> make_cuda_device(int index) { return std::make_unique<CudaDevice>(index); }

int cuda_device_count(std::string* why) {
  // Hardware queues, as many as there can be: streams that share one wait for each other's work. The
  // driver reads this when it is first called, which is here.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  cudaError_t const status = cudaGetDeviceCount(&count);
  std::string reason;
  if (status != cudaSuccess) {
    ignore(cudaGetLastError());
    count = 0;
    int driver = 0;
    bool const absent = cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0;
    reason = absent ? "no NVIDIA driver" : cudaGetErrorString(status);
  } else if (count == 0) {
    reason = "no GPU is visible";
  }
  if (why != nullptr) *why = reason;
  return count;
}

std::string driver_version() {
  int cuda = 0;
  bool const is_there = cudaDriverGetVersion(&cuda) == cudaSuccess && cuda > 0;
  ignore(cudaGetLastError());
  if (!is_there) return "none";
  std::string const api = fmt::format("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
  std::string const driver = nvml_driver_version();
  return driver.empty() ? api : fmt::format("{}, {}", driver, api);
}

void cuda_synchronize() { QUAD_CUDA(cudaDeviceSynchronize()); }

int cuda_multiprocessors(int index) { return attribute(cudaDevAttrMultiProcessorCount, index); }

std::unique_ptr<StreamBackend> make_blocking_stream(Device& device) {
  auto* const gpu = dynamic_cast<CudaDevice*>(&device);
  return gpu != nullptr ? gpu->make_blocking_stream()
                        : device.make_stream(Priority::normal, "blocking");
}

CudaContext::CudaContext(Facts const& facts) {
  static auto const create = driver_function<PFN_cuCtxCreate_v11040>("cuCtxCreate");
  CUcontext context{};
  check_driver(create(&context, nullptr, 0, 0, facts.index), "cuCtxCreate");
  context_ = context;
}

CudaContext::~CudaContext() {
  static auto const destroy = driver_function<PFN_cuCtxDestroy_v4000>("cuCtxDestroy");
  check_driver(destroy(static_cast<CUcontext>(context_)), "cuCtxDestroy");
}

bool CudaContext::allocate(std::size_t bytes) {
  static auto const get = driver_function<PFN_cuMemAlloc_v3020>("cuMemAlloc");
  CUdeviceptr memory = 0;
  check_driver(get(&memory, bytes), "cuMemAlloc");
  return memory != 0;
}

bool cuda_answers(CudaQuery query, Facts const& facts) {
  switch (query) {
    case CudaQuery::total_memory: {
      static auto const ask = driver_function<PFN_cuDeviceTotalMem_v3020>("cuDeviceTotalMem");
      std::size_t bytes = 0;
      check_driver(ask(&bytes, facts.index), "cuDeviceTotalMem");
      return bytes >= facts.memory_bytes;
    }
    case CudaQuery::name: {
      static auto const ask = driver_function<PFN_cuDeviceGetName_v2000>("cuDeviceGetName");
      char name[256] = {};
      check_driver(ask(name, sizeof name, facts.index), "cuDeviceGetName");
      return name == facts.name;
    }
    case CudaQuery::pci_bus_id: {
      static auto const ask = driver_function<PFN_cuDeviceGetPCIBusId_v4010>("cuDeviceGetPCIBusId");
      char id[32] = {};
      check_driver(ask(id, sizeof id, facts.index), "cuDeviceGetPCIBusId");
      return id[0] != '\0';
    }
    case CudaQuery::count: {
      static auto const ask = driver_function<PFN_cuDeviceGetCount_v2000>("cuDeviceGetCount");
      int count = 0;
      check_driver(ask(&count), "cuDeviceGetCount");
      return count > facts.index;
    }
    case CudaQuery::uuid: {
      static auto const ask = driver_function<PFN_cuDeviceGetUuid_v11040>("cuDeviceGetUuid");
      CUuuid uuid{};
      check_driver(ask(&uuid, facts.index), "cuDeviceGetUuid");
      return uuid_text(uuid) == facts.uuid;
    }
  }
  return false;
}

CodeArchitecture code_of_program(int compute_capability) {
  return code_for(QUADRILLE_CUDA_ARCHITECTURES, compute_capability);
}

Facts cuda_device_facts(int index) {
  std::string why;
  int const count = cuda_device_count(&why);
  if (index < 0 || index >= count) {
    core::fail(fmt::format("GPU {} of {}{}; use device = \"host\", or check "
                           "CUDA_VISIBLE_DEVICES and the driver",
                           index, count, why.empty() ? "" : ": " + why),
               core::Exit::environment);
  }
  cudaDeviceProp properties{};
  QUAD_CUDA(cudaGetDeviceProperties(&properties, index));
  Facts facts;
  facts.name = properties.name;
  facts.uuid = uuid_text(properties.uuid);
  facts.index = index;
  facts.compute_capability = 10 * properties.major + properties.minor;
  facts.code = code_of_program(facts.compute_capability);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.memory_bytes = properties.totalGlobalMem;

  std::array<char, 32> pci{};
  QUAD_CUDA(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), index));
  facts.pci = pci.data();
  std::transform(facts.pci.begin(), facts.pci.end(), facts.pci.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  facts.numa_node = numa_node_of(facts.pci);

  facts.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  // Clocks are in kHz; two transfers per clock of the memory.
  facts.clock_hz = 1e3 * attribute(cudaDevAttrClockRate, index);
  facts.memory_clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate, index);
  facts.peak_bandwidth =
      2 * facts.memory_clock_hz * attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8;
  facts.peaks = {facts.compute_capability, facts.clock_hz * facts.multiprocessors};
  return facts;
}

}  // namespace quadrille::device
