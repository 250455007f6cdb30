// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/field_file.hpp"
#include "io/page_cache.hpp"
#include "workloads/data.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

namespace quadrille::workloads {
namespace {

constexpr kernels::TypeList kTypes{core::DataType::f64, core::DataType::f32, core::DataType::i64,
                                   core::DataType::i32, core::DataType::i8};

// Files are written from page-locked memory, whatever the device.
constexpr kernels::VariantInfo kHdf5{
    .name = "hdf5",
    .where = kernels::Where::any,
    .types = kTypes,
    .preference = 10,
    .source = "own",
    .summary = "hyperslabs of one dataset, by all ranks together where HDF5 is parallel"};
constexpr kernels::VariantInfo kReference{
    .name = "reference",
    .role = kernels::Role::reference,
    .where = kernels::Where::any,
    .types = kTypes,
    .source = "textbook",
    .summary = "each rank's rows at their place in one raw file"};
constexpr bool is_reference(kernels::VariantInfo const& variant) {
  return variant.role == kernels::Role::reference;
}

/// Moves all of a row, however little single calls do. False with errno where it cannot, 0 at the end of
/// the file.
template <class Call>
bool move_row(Call call, int file, std::byte* row, std::size_t bytes, off_t place) {
  while (bytes > 0) {
    errno = 0;
    ssize_t const moved = call(file, row, bytes, place);
    if (moved <= 0 && errno != EINTR) return false;
    if (moved <= 0) continue;
    row += moved;
    bytes -= static_cast<std::size_t>(moved);
    place += moved;
  }
  return true;
}

/// A matrix on a P x Q grid written to one file until it is in the storage, and read from another.
/// The other one was written in prepare(), so that reset() can take it out of the page cache.
class FieldIo final : public measure::Workload {
 public:
  FieldIo(core::Case const& spec, int ranks, int rank)
      : case_{spec}, m_{spec.size[0]}, n_{spec.size[1]}, ranks_{ranks}, rank_{rank} {
    core::GridShape const shape = spec.grid.rows > 0 ? spec.grid : comm::near_square(ranks);
    layout_ = {{m_, 0, shape.rows}, {n_, 0, shape.cols}, rank / shape.cols, rank % shape.cols};
  }
  ~FieldIo() override {
    remove_file(path_);
    for (auto const& [variant, path] : prepared_) remove_file(path);
  }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = 2 * bytes();
    d.unit = "B/s";
    double const mine = static_cast<double>(layout_.local_rows()) *
                        static_cast<double>(layout_.local_cols()) *
                        static_cast<double>(core::size_of(case_.type));
    d.memory_bytes = 2 * mine;
    d.host_bytes = 2 * mine;
    d.traits = {.repeatable = false};  // reset() removes the file
    return d;
  }

  void prepare(comm::World& world, std::uint64_t seed,
               measure::Selection const& selected) override {
    device::StreamView const stream = world.stream();
    if (group_.size() == 0) {
      group_ = world.group().duplicate();  // the worker has messages of its own
      host_ = device::make_host_device(1);
      reached_ = device::Flag{*host_};
      worker_ = device::Stream{*host_, "files"};
      done_ = device::Flag{world.device()};
      in_ = {world.device(), case_.type, layout_.local_rows(), layout_.local_cols(),
             world.stream()};
      out_ = {world.device(), case_.type, layout_.local_rows(), layout_.local_cols(),
              world.stream()};
      written_ = {world.device(), static_cast<std::int64_t>(in_.bytes())};
      read_ = {world.device(), static_cast<std::int64_t>(in_.bytes())};
      chunk_bytes_ = static_cast<std::size_t>(world.settings().chunk_bytes);
      // Nodes that measure by themselves may share the folder.
      path_ = world.settings().output + "/field_io-" + world.placement().node + '-' +
              std::to_string(getpid());
      world.group().broadcast(path_);
    }
    source_ = {case_.data, seed, 0};
    fill(in_.view(), layout_, source_, world);
    stream.copy(written_.data(), in_.view().data, in_.bytes());
    for (kernels::VariantInfo const* variant : selected) {
      std::string& path = prepared_[variant];
      path = fmt::format("{}-{}", path_, variant->name);
      remove_file(path);
      world.group().barrier();  // or a rank would write to what is removed
      enqueue(stream, [this, variant, path] { write(*variant, path); });
    }
  }

  void reset(comm::World& world, kernels::VariantInfo const& variant) override {
    ran_ = &variant;
    remove_file(path_);
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
    world.stream().fill(read_.data(), 0xFF, in_.bytes());
    enqueue(world.stream(), [this, path = prepared_.at(&variant)] {
      is_cold_ = group_.agree(!io::drop_cached_pages(path)) < 0;
    });
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    device::StreamView const stream = world.stream();
    stream.copy(written_.data(), in_.view().data, in_.bytes());
    enqueue(stream, [this, &variant] {
      write(variant, path_);
      read(variant, prepared_.at(&variant));
    });
    stream.copy(out_.view().data, read_.data(), out_.bytes());
  }

  measure::Verdict validate(comm::World& world) override {
    device::StreamView const stream = world.stream();
    Finding finding = compare_output("read", world);
    // Of what was written nobody has read anything.
    stream.fill(out_.view().data, 0xFF, out_.bytes());
    bool const is_missing = rank_ == 0 && access(path_.c_str(), F_OK) != 0;
    if (world.group().agree(is_missing) < 0) {
      enqueue(stream, [this] { read(*ran_, path_); });
      stream.copy(out_.view().data, read_.data(), out_.bytes());
    }
    finding.add(compare_output("written", world));
    return agree(world, finding);
  }

  std::vector<measure::Field> fields() override {
    return {measure::output(field("A", out_.view(), layout_))};
  }

  std::vector<measure::SecondaryMetric> observed() override {
    if (is_reference(*ran_)) return {};
    auto const whole = [](io::IoTimes const& t) { return t.open_s + t.transfer_s + t.close_s; };
    std::array<double, 4> slowest{write_.transfer_s, whole(write_), reading_.transfer_s,
                                  whole(reading_)};
    group_.max(std::span{slowest});
    std::string const from = is_cold_ ? "" : ", page cache";
    return {{"write, raw", bytes(), "B/s", slowest[0]},
            {"write, open to close", bytes(), "B/s", slowest[1]},
            {"read, raw" + from, bytes(), "B/s", slowest[2]},
            {"read, open to close" + from, bytes(), "B/s", slowest[3]}};
  }

 private:
  double bytes() const {
    return static_cast<double>(m_) * static_cast<double>(n_) *
           static_cast<double>(core::size_of(case_.type));
  }

  void remove_file(std::string const& path) const {
    if (rank_ == 0 && !path.empty()) std::remove(path.c_str());
  }

  Finding compare_output(std::string_view name, comm::World const& world) const {
    return compare(name, out_.view(), region_of(layout_), source_, world, check_stride(case_));
  }

  /// Runs a task in the order of the stream, but in a thread of its own: CUDA allows host functions
  /// no call of CUDA, which MPI may make, and its driver waits for them.
  template <class Task>
  void enqueue(device::StreamView stream, Task task) {
    std::uint32_t const number = ++tasks_;
    stream.run([this, number] { reached_.set(number); });
    worker_.view().wait(reached_, number);
    worker_.view().run(std::move(task));
    worker_.view().run([this, number] { done_.set(number); });
    stream.wait(done_, number);
  }

  io::HostField host_field(std::byte* data) const {
    io::HostField result;
    result.name = "A";
    result.type = case_.type;
    result.shape = {m_, n_};
    // One block per process: contiguous globally.
    if (in_.bytes() > 0) {
      result.blocks.push_back({layout_.global_row(0), layout_.global_col(0), layout_.local_rows(),
                               layout_.local_cols(), layout_.local_cols(), data});
    }
    return result;
  }

  void write(kernels::VariantInfo const& variant, std::string const& path) {
    if (is_reference(variant)) return move_raw(path, O_WRONLY | O_CREAT, pwrite, written_);
    write_ = io::write_fields(group_, path, {host_field(written_.data())}, chunk_bytes_);
  }
  void read(kernels::VariantInfo const& variant, std::string const& path) {
    if (is_reference(variant)) return move_raw(path, O_RDONLY, pread, read_);
    reading_ = io::read_fields(group_, path, {host_field(read_.data())}, chunk_bytes_);
  }

  /// Moves this rank's rows by calls of the operating system, and what was written to the storage.
  template <class Call>
  void move_raw(std::string const& path, int flags, Call call,
                device::PinnedBuffer<std::byte> const& memory) const {
    int const file = open(path.c_str(), flags, 0644);
    if (file < 0) {
      core::fail(
          fmt::format("field_io: cannot open '{}': {}; set run.output", path, std::strerror(errno)),
          core::Exit::environment);
    }
    auto const size = core::size_of(case_.type);
    std::size_t const row_bytes = static_cast<std::size_t>(layout_.local_cols()) * size;
    bool complete = true;
    for (std::int64_t i = 0; complete && i < layout_.local_rows() && row_bytes > 0; ++i) {
      auto const place = static_cast<off_t>(
          static_cast<std::size_t>(layout_.global_row(i) * n_ + layout_.global_col(0)) * size);
      std::byte* const row = memory.data() + static_cast<std::size_t>(i) * row_bytes;
      complete = move_row(call, file, row, row_bytes, place);
    }
    complete = complete && (flags == O_RDONLY || fsync(file) == 0);
    int const error = errno;
    close(file);
    if (complete) return;
    // What is left takes the room that is missing.
    if (flags != O_RDONLY) std::remove(path.c_str());
    core::fail(fmt::format("field_io: '{}' cannot be {}: {}", path,
                           flags == O_RDONLY ? "read" : "written",
                           error == 0 ? "it ends too early" : std::strerror(error)));
  }

  core::Case case_;
  std::int64_t m_, n_;
  int ranks_, rank_;
  Layout layout_;
  Source source_;
  comm::Group group_;
  std::string path_;
  device::Matrix in_, out_;
  device::PinnedBuffer<std::byte> written_, read_;
  std::size_t chunk_bytes_ = 0;
  std::map<kernels::VariantInfo const*, std::string> prepared_;  ///< what a repetition reads
  kernels::VariantInfo const* ran_ = nullptr;
  io::IoTimes write_, reading_;
  bool is_cold_ = false;  ///< nothing that a repetition reads is in the page cache
  // The worker's. It ends first.
  std::unique_ptr<device::Device> host_;
  device::Flag reached_, done_;
  std::uint32_t tasks_ = 0;
  device::Stream worker_;
};

measure::Selection rows() { return {&kHdf5, &kReference}; }

}  // namespace

namespace entries {

extern measure::WorkloadEntry const field_io = measure::entry({
    .schema = {.name = "field_io", .extents = {"m", "n"}, .keys = {.grid = true, .weak = true}},
    .summary = "a distributed matrix written to HDF5 by hyperslabs, and one read",
    .work =
        "2 m n s bytes: written until they are in the storage, and read from it; pages that the "
        "system keeps of what is read are dropped before",
    .local = false,
    .variants = rows(),
    .make = measure::make<FieldIo>,
    .shares_files = true,
    .secondary =
        {{"write", "B/s",
          "raw, the bytes over the time of the transfers until they are in the storage; open to "
          "close, with what goes before and behind."},
         {"read", "B/s",
          "the same of a file of which the system has kept nothing in memory; where it cannot be "
          "made to forget, as on file systems in memory, \"page cache\" is said."}},
});

}  // namespace entries

}  // namespace quadrille::workloads
