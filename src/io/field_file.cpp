// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "io/field_file.hpp"

#include "comm/mpi_handle.hpp"
#include "core/units.hpp"
#include "io/hdf5.hpp"
#include "io/page_cache.hpp"
#include "io/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <tuple>

namespace quadrille::io {
namespace {

#ifdef QUADRILLE_PARALLEL_FIELDS
constexpr bool kParallel = true;
void open_together(hid_t properties, comm::Group const& group) {
  QUAD_HDF5(H5Pset_fapl_mpio(properties, comm::handle(group), MPI_INFO_NULL));
}
void transfer_together(hid_t properties) {
  QUAD_HDF5(H5Pset_dxpl_mpio(properties, H5FD_MPIO_COLLECTIVE));
}
#else
constexpr bool kParallel = false;
void open_together(hid_t, comm::Group const&) {}
void transfer_together(hid_t) {}
#endif

enum class Direction { write, read };

/// A rectangle that moves in one call, and where it lies in memory.
struct Slab {
  std::int64_t row, col, rows, cols;
  std::byte* data;
  std::int64_t ld;
};
/// What this rank moves in one call.
using Batch = std::vector<Slab>;

/// Whether this rank calls HDF5 at all.
bool has_file(comm::Group const& group) { return kParallel || group.rank() == 0; }

/// Ends the job on every rank when any rank has an error, with the words of the lowest such rank:
/// nobody enters the next collective call alone. What was begun is removed. Collective.
void require_on_all(comm::Group const& group, std::string error,
                    core::Exit code = core::Exit::runtime, std::string const& begun = {}) {
  int const first = group.agree(!error.empty());
  if (first < 0) return;
  group.broadcast(error, first);
  if (group.rank() == 0 && !begun.empty()) std::remove(begun.c_str());
  group.barrier();  // the first who fails ends the others
  core::fail(error, code);
}

/// Stops between phases.
class Stopwatch {
 public:
  double lap() {
    auto const now = std::chrono::steady_clock::now();
    std::chrono::duration<double> const passed = now - std::exchange(last_, now);
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Type float_type(std::size_t exponent_bits, std::size_t mantissa_bits) {
  Type type{QUAD_HDF5(H5Tcopy(H5T_IEEE_F32LE))};
  std::size_t const sign = exponent_bits + mantissa_bits;
  QUAD_HDF5(H5Tset_fields(type, sign, mantissa_bits, exponent_bits, 0, mantissa_bits));
  QUAD_HDF5(H5Tset_size(type, (sign + 1) / 8));
  QUAD_HDF5(H5Tset_ebias(type, (std::size_t{1} << (exponent_bits - 1)) - 1));
  return type;
}

/// Little-endian in the file; in memory too, so that nothing is ever converted.
Type element_type(core::DataType type) {
  switch (type) {
    case core::DataType::f64: return Type{QUAD_HDF5(H5Tcopy(H5T_IEEE_F64LE))};
    case core::DataType::f32: return Type{QUAD_HDF5(H5Tcopy(H5T_IEEE_F32LE))};
    case core::DataType::f16: return float_type(5, 10);
    case core::DataType::bf16: return float_type(8, 7);
    case core::DataType::i64: return Type{QUAD_HDF5(H5Tcopy(H5T_STD_I64LE))};
    case core::DataType::i32: return Type{QUAD_HDF5(H5Tcopy(H5T_STD_I32LE))};
    case core::DataType::i8: return Type{QUAD_HDF5(H5Tcopy(H5T_STD_I8LE))};
    case core::DataType::e4m3: return float_type(4, 3);
    case core::DataType::e5m2: return float_type(5, 2);
  }
  return {};
}

std::vector<hsize_t> extents_of(HostField const& field) {
  return {field.shape.begin(), field.shape.end()};
}

/// The reason why a field cannot be moved, or nothing.
std::string trouble_with(HostField const& field) {
  if (field.name.empty() || field.name.find('/') != std::string::npos) {
    return fmt::format("field '{}' has no usable name", field.name);
  }
  if (field.shape.size() != 1 && field.shape.size() != 2) {
    return fmt::format("field '{}' has {} extents; 1 or 2 can be saved", field.name,
                       field.shape.size());
  }
  std::int64_t const rows = field.shape.size() == 2 ? field.shape[0] : 1;
  std::int64_t const cols = field.shape.back();
  if (rows < 0 || cols < 0) return fmt::format("field '{}' has a negative extent", field.name);
  for (HostField::Block const& b : field.blocks) {
    bool const inside = b.row >= 0 && b.col >= 0 && b.rows >= 0 && b.cols >= 0 &&
                        b.rows <= rows - b.row && b.cols <= cols - b.col;
    bool const backed = b.rows == 0 || b.cols == 0 || (b.data != nullptr && b.ld >= b.cols);
    if (!inside || !backed) {
      return fmt::format("field '{}': the block of {} x {} at ({}, {}) is not inside {} x {}",
                         field.name, b.rows, b.cols, b.row, b.col, rows, cols);
    }
  }
  return {};
}

void check_fields(comm::Group const& group, std::vector<HostField> const& fields) {
  std::string mine, error;
  for (HostField const& field : fields) {
    if (error.empty()) error = trouble_with(field);
    mine += fmt::format("{} {} {}\n", field.name, core::to_text(field.type),
                        fmt::join(field.shape, " "));
  }
  std::string first = mine;
  group.broadcast(first);
  if (error.empty() && first != mine) {
    error = fmt::format("rank {} saves other fields than rank 0:\n{}instead of\n{}", group.rank(),
                        mine, first);
  }
  require_on_all(group, error);
}

/// Cuts this rank's blocks into batches of at most `limit` bytes. Blocks of a block-cyclic matrix
/// share batches, so that their number does not make the number of calls.
std::vector<Batch> make_batches(HostField const& field, std::size_t limit) {
  // A selection of many rectangles gets slow.
  constexpr std::size_t kMaxSlabs = 512;
  auto const size = static_cast<std::int64_t>(core::size_of(field.type));
  std::int64_t const most = std::max<std::int64_t>(1, static_cast<std::int64_t>(limit) / size);
  std::vector<HostField::Block> blocks = field.blocks;
  std::ranges::sort(blocks, {}, [](HostField::Block const& b) { return std::tuple{b.row, b.col}; });
  std::vector<Batch> batches;
  std::int64_t room = 0;
  auto const add = [&](Slab const& slab) {
    std::int64_t const n = slab.rows * slab.cols;
    if (batches.empty() || n > room || batches.back().size() == kMaxSlabs) {
      batches.emplace_back();
      room = most;
    }
    batches.back().push_back(slab);
    room -= n;
  };
  for (HostField::Block const& b : blocks) {
    if (b.rows == 0 || b.cols == 0) continue;
    std::int64_t const cols = std::min(b.cols, most);
    std::int64_t const rows = std::max<std::int64_t>(1, most / cols);
    for (std::int64_t i = 0; i < b.rows; i += rows) {
      for (std::int64_t j = 0; j < b.cols; j += cols) {
        add({b.row + i, b.col + j, std::min(rows, b.rows - i), std::min(cols, b.cols - j),
             static_cast<std::byte*>(b.data) + (i * b.ld + j) * size, b.ld});
      }
    }
  }
  return batches;
}

std::int64_t elements_of(Batch const& batch) {
  std::int64_t n = 0;
  for (Slab const& slab : batch) n += slab.rows * slab.cols;
  return n;
}

/// The elements of a batch in the order of the file: in place, or in a copy if memory has another
/// order.
class Packed {
 public:
  Packed(Batch const& batch, std::size_t element_bytes) : bytes_{element_bytes} {
    if (batch.size() == 1 && (batch[0].rows == 1 || batch[0].ld == batch[0].cols)) {
      in_place_ = batch[0].data;
      return;
    }
    for (Slab const& slab : batch) {
      for (std::int64_t i = 0; i < slab.rows; ++i) {
        segments_.push_back({slab.row + i, slab.col, slab.cols,
                             slab.data + i * slab.ld * static_cast<std::int64_t>(bytes_)});
      }
    }
    std::ranges::sort(segments_, {}, [](Segment const& s) { return std::tuple{s.row, s.col}; });
    copy_.resize(static_cast<std::size_t>(elements_of(batch)) * bytes_);
  }
  std::byte* data() { return in_place_ != nullptr ? in_place_ : copy_.data(); }
  void fill() {
    for_each(
        [](std::byte* packed, std::byte* place, std::size_t n) { std::memcpy(packed, place, n); });
  }
  void spread() {
    for_each(
        [](std::byte* packed, std::byte* place, std::size_t n) { std::memcpy(place, packed, n); });
  }

 private:
  struct Segment {
    std::int64_t row, col, cols;
    std::byte* place;
  };
  template <class Copy>
  void for_each(Copy const& copy) {
    std::byte* packed = copy_.data();
    for (Segment const& segment : segments_) {
      std::size_t const n = static_cast<std::size_t>(segment.cols) * bytes_;
      copy(packed, segment.place, n);
      packed += n;
    }
  }
  std::size_t bytes_;
  std::byte* in_place_ = nullptr;
  std::vector<Segment> segments_;
  std::vector<std::byte> copy_;
};

/// The same places with their elements in `memory`, which the host reaches.
Batch fetched(Batch batch, std::size_t element_bytes, Fetch const& fetch,
              std::vector<std::byte>& memory) {
  memory.resize(static_cast<std::size_t>(elements_of(batch)) * element_bytes);
  std::byte* to = memory.data();
  for (Slab& slab : batch) {
    std::size_t const row_bytes = static_cast<std::size_t>(slab.cols) * element_bytes;
    fetch(to, row_bytes, slab.data, static_cast<std::size_t>(slab.ld) * element_bytes, row_bytes,
          static_cast<std::size_t>(slab.rows));
    slab.data = to;
    slab.ld = slab.cols;
    to += row_bytes * static_cast<std::size_t>(slab.rows);
  }
  return batch;
}

/// An open dataset with all that a transfer needs.
struct Target {
  Dataset set;
  Type type;
  std::size_t extents = 0;
  std::size_t element_bytes = 0;
  Properties transfer;
};

/// Selects the slabs of a batch, or nothing. Empty, or what went wrong.
std::string select(hid_t space, std::size_t extents, Batch const& batch) {
  if (batch.empty()) return H5Sselect_none(space) < 0 ? hdf5_error("H5Sselect_none") : "";
  H5S_seloper_t how = H5S_SELECT_SET;
  for (Slab const& slab : batch) {
    std::array const first{static_cast<hsize_t>(slab.row), static_cast<hsize_t>(slab.col)};
    std::array const count{static_cast<hsize_t>(slab.rows), static_cast<hsize_t>(slab.cols)};
    // With one extent there are columns only.
    std::size_t const skip = 2 - extents;
    if (H5Sselect_hyperslab(space, how, first.data() + skip, nullptr, count.data() + skip,
                            nullptr) < 0) {
      return hdf5_error("H5Sselect_hyperslab");
    }
    how = H5S_SELECT_OR;
  }
  return {};
}

/// One call to HDF5; with parallel HDF5, collective. Empty, or what went wrong.
std::string call_hdf5(Direction direction, Target const& to, Batch const& batch,
                      std::byte* packed) {
  Space const in_file{H5Dget_space(to.set)};
  auto const n = static_cast<hsize_t>(elements_of(batch));
  Space const in_memory{H5Screate_simple(1, &n, nullptr)};
  std::string error = select(in_file, to.extents, batch);
  // HDF5 refuses a null pointer even where nothing is selected.
  std::byte nothing{};
  std::byte* const data = n > 0 ? packed : &nothing;
  herr_t const done = direction == Direction::write
                          ? H5Dwrite(to.set, to.type, in_memory, in_file, to.transfer, data)
                          : H5Dread(to.set, to.type, in_memory, in_file, to.transfer, data);
  if (done < 0 && error.empty()) {
    error = hdf5_error(direction == Direction::write ? "H5Dwrite" : "H5Dread");
  }
  return error;
}

std::string move_own(Direction direction, Target const& to, Batch const& batch) {
  Packed packed{batch, to.element_bytes};
  if (direction == Direction::write) packed.fill();
  std::string const error = call_hdf5(direction, to, batch, packed.data());
  if (direction == Direction::read) packed.spread();
  return error;
}

// Without parallel HDF5: rank 0 learns what each rank moves in this round, and moves it for them.
constexpr int kPlaces = 1, kBytes = 2;

void move_by_rank_0(Direction direction, Target const& to, Batch const& batch, MPI_Comm comm) {
  std::vector<std::int64_t> places;
  for (Slab const& s : batch) places.insert(places.end(), {s.row, s.col, s.rows, s.cols});
  QUAD_MPI(MPI_Send(places.data(), static_cast<int>(places.size()), MPI_INT64_T, 0, kPlaces, comm));
  if (batch.empty()) return;
  Packed packed{batch, to.element_bytes};
  auto const bytes =
      static_cast<int>(static_cast<std::size_t>(elements_of(batch)) * to.element_bytes);
  if (direction == Direction::write) {
    packed.fill();
    QUAD_MPI(MPI_Send(packed.data(), bytes, MPI_BYTE, 0, kBytes, comm));
  } else {
    QUAD_MPI(MPI_Recv(packed.data(), bytes, MPI_BYTE, 0, kBytes, comm, MPI_STATUS_IGNORE));
    packed.spread();
  }
}

std::string move_for(int rank, Direction direction, Target const& to, MPI_Comm comm) {
  MPI_Status status{};
  QUAD_MPI(MPI_Probe(rank, kPlaces, comm, &status));
  int length = 0;
  QUAD_MPI(MPI_Get_count(&status, MPI_INT64_T, &length));
  std::vector<std::int64_t> places(static_cast<std::size_t>(length));
  QUAD_MPI(MPI_Recv(places.data(), length, MPI_INT64_T, rank, kPlaces, comm, MPI_STATUS_IGNORE));
  if (places.empty()) return {};
  Batch batch;
  for (std::size_t i = 0; i < places.size(); i += 4) {
    batch.push_back({places[i], places[i + 1], places[i + 2], places[i + 3], nullptr, 0});
  }
  std::vector<std::byte> packed(static_cast<std::size_t>(elements_of(batch)) * to.element_bytes);
  auto const bytes = static_cast<int>(packed.size());
  if (direction == Direction::write) {
    QUAD_MPI(MPI_Recv(packed.data(), bytes, MPI_BYTE, rank, kBytes, comm, MPI_STATUS_IGNORE));
    return call_hdf5(direction, to, batch, packed.data());
  }
  std::string const error = call_hdf5(direction, to, batch, packed.data());
  QUAD_MPI(MPI_Send(packed.data(), bytes, MPI_BYTE, rank, kBytes, comm));
  return error;
}

std::string move_round(Direction direction, comm::Group const& group, Target const& to,
                       Batch const& batch) {
  if (kParallel) return move_own(direction, to, batch);
  MPI_Comm const comm = comm::handle(group);
  if (group.rank() != 0) {
    move_by_rank_0(direction, to, batch, comm);
    return {};
  }
  std::string error = batch.empty() ? "" : move_own(direction, to, batch);
  for (int rank = 1; rank < group.size(); ++rank) {
    std::string const theirs = move_for(rank, direction, to, comm);
    if (error.empty()) error = theirs;
  }
  return error;
}

/// The system's own reason why a file cannot be opened, which layers above have lost.
std::string refused_open(std::string const& path, int flags) {
  int const file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return fmt::format(": {}", std::strerror(errno));
  close(file);
  return {};
}

/// What the system says of further bytes, where a library only says that it cannot write.
std::string refused_bytes(std::string const& temporary) {
  int const file = open(temporary.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  bool const takes = write_all(file, std::string(1 << 20, '\0'));
  std::string const why = takes ? "" : fmt::format(": {}", std::strerror(errno));
  if (file >= 0) close(file);
  return why;
}

/// Every rank makes the same number of rounds, with empty batches where it has no more data.
void move(Direction direction, comm::Group const& group, std::string const& path,
          HostField const& field, Target const& to, std::size_t chunk_bytes,
          std::string const& temporary = {}) {
  // MPI counts bytes in int where rank 0 gathers, and so do some MPI-IO implementations.
  constexpr std::size_t kMax = std::size_t{1} << 30;
  std::vector<Batch> const batches = make_batches(field, std::min(chunk_bytes, kMax));
  auto const mine = static_cast<std::int64_t>(batches.size());
  std::int64_t const rounds = group.max(mine);
  std::vector<std::byte> memory;
  for (std::int64_t k = 0; k < rounds; ++k) {
    Batch batch = k < mine ? batches[static_cast<std::size_t>(k)] : Batch{};
    if (field.fetch) batch = fetched(std::move(batch), to.element_bytes, field.fetch, memory);
    std::string error = move_round(direction, group, to, batch);
    if (!error.empty()) {
      error = fmt::format("{}: field '{}': {}{}", path, field.name, error,
                          temporary.empty() ? "" : refused_bytes(temporary));
    }
    require_on_all(group, error, core::Exit::runtime, temporary);
  }
}

Target make_target(HostField const& field) {
  Target to;
  to.type = element_type(field.type);
  to.extents = field.shape.size();
  to.element_bytes = core::size_of(field.type);
  to.transfer = Properties{QUAD_HDF5(H5Pcreate(H5P_DATASET_XFER))};
  transfer_together(to.transfer);
  return to;
}

std::string create_dataset(hid_t file, HostField const& field, Target& to) {
  std::vector<hsize_t> const extents = extents_of(field);
  Space const space{H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr)};
  to.set = Dataset{
      H5Dcreate2(file, field.name.c_str(), to.type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)};
  return to.set ? "" : hdf5_error("H5Dcreate");
}

std::string open_dataset(hid_t file, HostField const& field, Target& to) {
  to.set = Dataset{H5Dopen2(file, field.name.c_str(), H5P_DEFAULT)};
  if (!to.set) return hdf5_error("H5Dopen");
  Space const space{H5Dget_space(to.set)};
  std::vector<hsize_t> found(H5S_MAX_RANK);
  int const n = H5Sget_simple_extent_dims(space, found.data(), nullptr);
  found.resize(static_cast<std::size_t>(std::max(n, 0)));
  if (found != extents_of(field)) {
    return fmt::format("has extents {} instead of {}", fmt::join(found, " x "),
                       fmt::join(field.shape, " x "));
  }
  Type const type{H5Dget_type(to.set)};
  if (H5Tequal(type, to.type) <= 0) {
    return fmt::format("has another type than {}", core::to_text(field.type));
  }
  return {};
}

/// Opens or makes the datasets, one after the other on all ranks.
std::vector<Target> open_all(Direction direction, comm::Group const& group, std::string const& path,
                             hid_t file, std::vector<HostField> const& fields) {
  std::vector<Target> targets;
  for (HostField const& field : fields) {
    targets.push_back(make_target(field));
    std::string error;
    if (has_file(group)) {
      error = direction == Direction::write ? create_dataset(file, field, targets.back())
                                            : open_dataset(file, field, targets.back());
    }
    if (!error.empty()) error = fmt::format("{}: field '{}': {}", path, field.name, error);
    require_on_all(group, error);
  }
  return targets;
}

/// Takes the name of the temporary file, so that the reason is known if there is no place for it.
std::string reserve(std::string const& path, std::string const& temporary) {
  if (access(path.c_str(), F_OK) == 0) {
    return fmt::format("{}: exists already; remove it or choose another output", path);
  }
  std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })> const file{
      std::fopen(temporary.c_str(), "w")};
  if (file != nullptr) return {};
  return fmt::format("{}: cannot be created: {}; choose an output directory that can be written",
                     path, std::strerror(errno));
}

/// Takes the storage of all datasets, so that a full disk is told before anybody writes, by the
/// system's own word: layers above have lost it. Not every file system can.
std::string reserve_storage(std::string const& path, std::string const& temporary,
                            std::vector<HostField> const& fields) {
  std::size_t bytes = 0;
  for (HostField const& field : fields) {
    std::size_t elements = 1;
    for (std::int64_t const extent : field.shape) elements *= static_cast<std::size_t>(extent);
    bytes += elements * core::size_of(field.type);
  }
  int const file = open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
  bool const done = bytes == 0 || fallocate(file, 0, 0, static_cast<off_t>(bytes)) == 0;
  int const error = errno;
  if (file >= 0) close(file);
  if (done || error == EOPNOTSUPP || error == ENOSYS) return {};
  return fmt::format("{}: cannot be written, {} of it: {}", path,
                     core::format_bytes(static_cast<double>(bytes)), std::strerror(error));
}

/// HDF5's own buffers, then what the operating system of each node would write later.
std::string flush_file(comm::Group const& group, File const& file, std::string const& path) {
  if (!has_file(group)) return {};
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return path + ": " + hdf5_error("H5Fflush");
  return flush_to_storage(path);
}

std::string close_file(comm::Group const& group, File& file) {
  return has_file(group) && file.close() < 0 ? hdf5_error("H5Fclose") : "";
}

}  // namespace

bool writes_fields_together() { return kParallel; }

IoTimes write_fields(comm::Group const& group, std::string const& path,
                     std::vector<HostField> const& fields, std::size_t chunk_bytes) {
  silence_hdf5();
  check_fields(group, fields);
  std::string const temporary = path + ".tmp";
  require_on_all(group, group.rank() == 0 ? reserve(path, temporary) : "", core::Exit::environment);

  IoTimes times;
  Stopwatch watch;
  Properties const properties = file_access();
  open_together(properties, group);
  File file;
  if (has_file(group)) {
    file = File{H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties)};
  }
  std::string error;
  if (has_file(group) && !file) {
    error = fmt::format("{}: {}{}", path, hdf5_error("H5Fcreate"), refused_open(temporary, O_RDWR));
  }
  require_on_all(group, error, core::Exit::environment);
  std::vector<Target> targets = open_all(Direction::write, group, path, file, fields);
  require_on_all(group, group.rank() == 0 ? reserve_storage(path, temporary, fields) : "",
                 core::Exit::runtime, temporary);
  times.open_s = watch.lap();

  for (std::size_t i = 0; i < fields.size(); ++i) {
    move(Direction::write, group, path, fields[i], targets[i], chunk_bytes, temporary);
  }
  require_on_all(group, flush_file(group, file, temporary), core::Exit::runtime, temporary);
  times.transfer_s = watch.lap();

  targets.clear();
  require_on_all(group, close_file(group, file), core::Exit::runtime, temporary);
  require_on_all(group, group.rank() == 0 ? publish(temporary, path) : "", core::Exit::environment);
  times.close_s = watch.lap();
  return times;
}

IoTimes read_fields(comm::Group const& group, std::string const& path,
                    std::vector<HostField> const& fields, std::size_t chunk_bytes) {
  silence_hdf5();
  check_fields(group, fields);

  IoTimes times;
  Stopwatch watch;
  Properties const properties = file_access();
  open_together(properties, group);
  File file;
  if (has_file(group)) file = File{H5Fopen(path.c_str(), H5F_ACC_RDONLY, properties)};
  std::string error;
  if (has_file(group) && !file) {
    error = fmt::format("{}: {}{}", path, hdf5_error("H5Fopen"), refused_open(path, O_RDONLY));
  }
  require_on_all(group, error);
  std::vector<Target> targets = open_all(Direction::read, group, path, file, fields);
  times.open_s = watch.lap();

  for (std::size_t i = 0; i < fields.size(); ++i) {
    move(Direction::read, group, path, fields[i], targets[i], chunk_bytes);
  }
  times.transfer_s = watch.lap();

  targets.clear();
  require_on_all(group, close_file(group, file));
  times.close_s = watch.lap();
  return times;
}

}  // namespace quadrille::io
