// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/field_file.hpp"
#include "workloads/data.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

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

/// A matrix on a P x Q grid written to one file, read back into fresh memory and compared.
class FieldIo final : public measure::Workload {
 public:
  FieldIo(core::Case const& spec, int ranks, int rank)
      : case_{spec}, m_{spec.size[0]}, n_{spec.size[1]}, ranks_{ranks}, rank_{rank} {
    core::GridShape const shape = spec.grid.rows > 0 ? spec.grid : comm::near_square(ranks);
    layout_ = {{m_, 0, shape.rows}, {n_, 0, shape.cols}, rank / shape.cols, rank % shape.cols};
  }
  ~FieldIo() override { remove_file(); }

  measure::Description describe(measure::Selection const&) const override {
    measure::Description d;
    d.amount = 2 * bytes();
    d.unit = "B/s";
    d.memory_bytes = 4 * bytes() / ranks_;
    d.traits = {.repeatable = false};  // reset() removes the file
    return d;
  }

  void prepare(comm::World& world, std::uint64_t seed, measure::Selection const&) override {
    if (group_.size() == 0) {
      group_ = world.group().duplicate();  // the stream's thread has messages of its own
      in_ = {world.device(), case_.type, layout_.local_rows(), layout_.local_cols(),
             world.stream()};
      out_ = {world.device(), case_.type, layout_.local_rows(), layout_.local_cols(),
              world.stream()};
      written_ = {world.device(), static_cast<std::int64_t>(in_.bytes())};
      read_ = {world.device(), static_cast<std::int64_t>(in_.bytes())};
      path_ = world.settings().output + "/field_io-" + std::to_string(getpid()) + ".h5";
      world.group().broadcast(path_);
    }
    source_ = {case_.data, seed, 0};
    fill(in_.view(), layout_, source_, world);
  }

  void reset(comm::World& world, kernels::VariantInfo const&) override {
    remove_file();
    world.stream().fill(out_.view().data, 0xFF, out_.bytes());
    world.stream().fill(read_.data(), 0xFF, in_.bytes());
  }

  void run(comm::World& world, measure::Leg, kernels::VariantInfo const& variant) override {
    device::StreamView const stream = world.stream();
    auto const chunk = static_cast<std::size_t>(world.settings().chunk_bytes);
    bool const raw = &variant == &kReference;
    ran_hdf5_ = !raw;
    stream.copy(written_.data(), in_.view().data, in_.bytes());
    stream.run([this, chunk, raw] { raw ? write_and_read_raw() : write_and_read(chunk); });
    stream.copy(out_.view().data, read_.data(), out_.bytes());
  }

  measure::Verdict validate(comm::World& world) override {
    return agree(
        world, compare("A", out_.view(), region_of(layout_), source_, world, check_stride(case_)));
  }

  std::vector<measure::Field> fields() override {
    return {measure::output(field("A", out_.view(), layout_))};
  }

  std::vector<measure::Extra> observed() override {
    if (!ran_hdf5_) return {};
    auto const whole = [](io::IoTimes const& t) { return t.open_s + t.transfer_s + t.close_s; };
    std::array<double, 4> slowest{write_.transfer_s, whole(write_), reading_.transfer_s,
                                  whole(reading_)};
    group_.max(std::span{slowest});
    return {{"write, raw", bytes(), "B/s", slowest[0]},
            {"write, open to close", bytes(), "B/s", slowest[1]},
            {"read, raw", bytes(), "B/s", slowest[2]},
            {"read, open to close", bytes(), "B/s", slowest[3]}};
  }

 private:
  double bytes() const {
    return static_cast<double>(m_) * static_cast<double>(n_) *
           static_cast<double>(core::size_of(case_.type));
  }

  void remove_file() const {
    if (rank_ == 0 && !path_.empty()) std::remove(path_.c_str());
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

  void write_and_read(std::size_t chunk_bytes) {
    write_ = io::write_fields(group_, path_, {host_field(written_.data())}, chunk_bytes);
    reading_ = io::read_fields(group_, path_, {host_field(read_.data())}, chunk_bytes);
  }

  void write_and_read_raw() {
    int const file = open(path_.c_str(), O_RDWR | O_CREAT, 0644);
    if (file < 0)
      core::fail("field_io: cannot create '" + path_ + "'; set run.output",
                 core::Exit::environment);
    auto const size = core::size_of(case_.type);
    std::size_t const row_bytes = static_cast<std::size_t>(layout_.local_cols()) * size;
    bool complete = true;
    for (bool const writes : {true, false}) {
      for (std::int64_t i = 0; i < layout_.local_rows() && row_bytes > 0; ++i) {
        auto const place = static_cast<off_t>(
            static_cast<std::size_t>(layout_.global_row(i) * n_ + layout_.global_col(0)) * size);
        std::size_t const at = static_cast<std::size_t>(i) * row_bytes;
        ssize_t const moved = writes ? pwrite(file, written_.data() + at, row_bytes, place)
                                     : pread(file, read_.data() + at, row_bytes, place);
        complete = complete && moved == static_cast<ssize_t>(row_bytes);
      }
    }
    close(file);
    if (!complete)
      core::fail("field_io: '" + path_ + "' took or gave less than a row; is the disk full?");
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
  bool ran_hdf5_ = false;
  io::IoTimes write_, reading_;
};

measure::Selection rows() { return {&kHdf5, &kReference}; }

}  // namespace

namespace entries {

extern measure::WorkloadEntry const field_io{
    .schema = {.name = "field_io",
               .extents = {"m", "n"},
               .keys = {.grid = true},
               .variants = measure::names_of(rows())},
    .summary = "a distributed matrix written to HDF5 by hyperslabs and read back",
    .work = "2 m n s bytes, written and read",
    .local = false,
    .variants = rows(),
    .make = measure::make<FieldIo>,
};

}  // namespace entries

}  // namespace quadrille::workloads
