// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "simt/bulk_copies.hpp"

#include "simt/async_proxy.hpp"
#include "simt/clusters.hpp"
#include "simt/race.hpp"
#include "simt/scheduler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace quadrille::simt {
namespace {

bool is_aligned(void const* p, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
}

void check_global(void const* p, std::size_t bytes, char const* what, Place place) {
  if (find_allocation(p, bytes).kind == Placement::Kind::guard) {
    fail(fmt::format("{}: outside of the buffer in device memory", what), place);
  }
}

/// A load from its issue to its completion, which `fill` makes of the bytes in shared memory. `owner`
/// is a thread of the block that these and the barrier belong to.
void start_load(Thread* owner, void* shared, unsigned bytes, MBarrier* barrier, char const* what,
                Place place, std::function<void(unsigned char*)> fill) {
  auto* const to = static_cast<unsigned char*>(shared);
  {
    OnBehalfOf const there{owner};
    mbarrier_expect_copy(barrier, bytes, what, place);
    shared_offset(to + bytes - 1, place);
  }
  race::begin_async(to, bytes, place, what);
  std::memset(to, 0xFF, bytes);
  {
    OnBehalfOf const there{owner};
    async_proxy::wrote(to, bytes);
  }
  start_async([=, fill = std::move(fill)] {
    OnBehalfOf const there{owner};
    if (owner->block->has_ended) {
      fail(fmt::format("{}: the block that it copies to has ended", what), place);
    }
    fill(to);
    async_proxy::wrote(to, bytes);
    mbarrier_complete_copy(barrier, to, bytes, place);
  });
}
void start_load(void* shared, unsigned bytes, MBarrier* barrier, char const* what, Place place,
                std::function<void(unsigned char*)> fill) {
  start_load(current, shared, bytes, barrier, what, place, std::move(fill));
}

/// A bulk or tensor store from its issue to its wait.
struct Store {
  unsigned char const* shared;
  std::vector<unsigned char> data;  ///< as it was at the issue
  std::function<void(unsigned char const* data)> write;
  unsigned group;
  bool complete;
  Place place;
};
struct Stores {
  std::vector<std::shared_ptr<Store>> open;
  unsigned group = 0;
};
Stores& stores_of(Thread const& thread) {
  static char const key = 0;
  return block_state<std::map<unsigned, Stores>>(&key)[thread.linear];
}

void complete(Store& store) {
  if (store.complete) return;
  if (std::memcmp(store.data.data(), store.shared, store.data.size()) != 0) {
    fail("shared memory that this store reads was changed before bulk_wait_read()", store.place);
  }
  store.write(store.data.data());
  store.complete = true;
}

void start_store(void const* shared, unsigned bytes, char const* what, Place place,
                 std::function<void(unsigned char const*)> write) {
  auto const* const from = static_cast<unsigned char const*>(shared);
  shared_offset(from + bytes - 1, place);
  async_proxy::reads(from, bytes, what, place);
  race::read(from, bytes, place);
  Stores& stores = stores_of(*current);
  auto const store = std::make_shared<Store>(
      Store{from, {from, from + bytes}, std::move(write), stores.group, false, place});
  stores.open.push_back(store);
  start_async([=, self = current] {
    OnBehalfOf const issuer{self};
    if (!store->complete && self->state == State::done) {
      fail(
          "the thread ended before this store had read shared memory; call bulk_commit() and "
          "bulk_wait<0>()",
          store->place);
    }
    complete(*store);
  });
}

void check_bulk(void const* shared, void const* global, unsigned bytes, char const* what,
                Place place) {
  if (shared_offset(shared, place) % 16 != 0 || !is_aligned(global, 16) || bytes % 16 != 0) {
    fail(fmt::format("{}: addresses and size must be multiples of 16 bytes; the size is {}", what,
                     bytes),
         place);
  }
  check_global(global, bytes, what, place);
}

/// Rounds f32 to tf32, to nearest, ties to even; infinity and NaN stay.
void round_to_tf32(unsigned char* element) {
  std::uint32_t bits;
  std::memcpy(&bits, element, sizeof(bits));
  bool const is_finite = (bits & 0x7F800000) != 0x7F800000;
  if (is_finite) bits = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000;
  std::memcpy(element, &bits, sizeof(bits));
}

/// What one copy of a tensor map moves: rows of contiguous elements.
struct Box {
  static constexpr std::int64_t kOutside = -1;

  unsigned char* data;
  core::DataType type;
  ptx::Swizzle swizzle;
  bool rounds_to_tf32;
  /// Of each row, elements from the first of the tensor to the row's first there, or kOutside.
  std::vector<std::int64_t> starts;
  std::int64_t first = 0;    ///< column of the box
  std::int64_t width = 0;    ///< of the box
  std::int64_t columns = 0;  ///< that are moved

  template <class Description>
  explicit Box(Description const& t)
      : data{static_cast<unsigned char*>(const_cast<void*>(t.data))},
        type{t.type},
        swizzle{t.swizzle},
        rounds_to_tf32{t.rounds_to_tf32} {}

  unsigned size() const { return static_cast<unsigned>(core::size_of(type)); }
  unsigned bytes() const {
    return static_cast<unsigned>(starts.size()) * static_cast<unsigned>(width) * size();
  }
  /// Stores write pieces of 16 bytes, also where a row of the tensor ends inside of one.
  void round_up_columns() {
    std::int64_t const wide = 16 / size();
    columns = (columns + wide - 1) / wide * wide;
  }

  void check(void const* shared, char const* what, Place place) const {
    unsigned const alignment = swizzle == ptx::Swizzle::none ? 128 : 8 * ptx::span_of(swizzle);
    if (shared_offset(shared, place) % alignment != 0) {
      fail(fmt::format("{}: the tile must be aligned to {} bytes", what, alignment), place);
    }
    if (first * size() % 16 != 0) {
      fail(fmt::format("{}: column {} is not at a multiple of 16 bytes", what, first), place);
    }
    each_row([&](std::int64_t, unsigned char* global, std::size_t n) {
      check_global(global, n, what, place);
    });
  }
  /// Calls f(row of the box, first byte in global memory, bytes) for what lies in the tensor.
  template <class F>
  void each_row(F&& f) const {
    std::int64_t const begin = std::max<std::int64_t>(first, 0);
    std::int64_t const end = std::min<std::int64_t>(first + width, columns);
    if (begin >= end) return;
    for (std::size_t r = 0; r < starts.size(); ++r) {
      if (starts[r] == kOutside) continue;
      f(static_cast<std::int64_t>(r), data + (starts[r] + begin) * size(),
        static_cast<std::size_t>(end - begin) * size());
    }
  }
  /// Calls f(byte in global memory, byte of the tile) for each element in the tensor.
  template <class F>
  void each_element(F&& f) const {
    std::int64_t const left = std::max<std::int64_t>(-first, 0);
    each_row([&](std::int64_t r, unsigned char* global, std::size_t n) {
      for (std::size_t i = 0; i < n; i += size()) {
        auto const tile_byte =
            static_cast<unsigned>((r * width + left) * size()) + static_cast<unsigned>(i);
        f(global + i, ptx::swizzled(swizzle, tile_byte));
      }
    });
  }
  /// What a load writes to shared memory.
  void load(unsigned char* tile) const {
    std::memset(tile, 0, bytes());
    each_element([&](unsigned char const* global, unsigned at) {
      std::memcpy(tile + at, global, size());
      if (rounds_to_tf32) round_to_tf32(tile + at);
    });
  }
};

/// The box of a tensor map at one place of the tensor, of which the last dimension is contiguous.
Box box_of(ptx::TensorMap const& map, std::span<int const> position, char const* what,
           Place place) {
  if (ptx::detail::has_images(map)) fail(fmt::format("{}: the map is one of images", what), place);
  ptx::TensorNd tensor;
  std::memcpy(static_cast<void*>(&tensor), &map, sizeof(tensor));
  if (position.size() != static_cast<std::size_t>(tensor.dimensions)) {
    fail(fmt::format("{}: a position of {} indices in a tensor of {} dimensions", what,
                     position.size(), tensor.dimensions),
         place);
  }
  int const last = tensor.dimensions - 1;
  Box box{tensor};
  box.first = position[static_cast<std::size_t>(last)];
  box.width = tensor.box[last];
  box.columns = tensor.extents[last];
  unsigned const rows = std::accumulate(tensor.box, tensor.box + last, 1U, std::multiplies<>{});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t element = 0, rest = r;
    bool is_inside = true;
    for (int i = last - 1; i >= 0; --i) {
      std::int64_t const index = position[static_cast<std::size_t>(i)] + rest % tensor.box[i];
      rest /= tensor.box[i];
      is_inside &= index >= 0 && index < tensor.extents[i];
      element += index * tensor.strides[i];
    }
    box.starts.push_back(is_inside ? element : Box::kOutside);
  }
  return box;
}

/// One pixel of each of the windows from one on; `pixel` is its place in them.
Box box_of_images(ptx::TensorMap const& map, std::span<int const> position,
                  std::span<std::uint16_t const> pixel, char const* what, Place place) {
  if (!ptx::detail::has_images(map))
    fail(fmt::format("{}: the map is none of images", what), place);
  ptx::ImageTensor t;
  std::memcpy(static_cast<void*>(&t), &map, sizeof(t));
  std::int64_t image = position[0], row = position[1], column = position[2];
  std::int64_t const end_row = t.rows + t.last_row, end_column = t.columns + t.last_column;
  if (row < t.first_row || row >= end_row || column < t.first_column || column >= end_column) {
    fail(fmt::format("{}: no window begins at row {}, column {}", what, row, column), place);
  }
  if (pixel[0] > 255 || pixel[1] > 255) {
    fail(fmt::format("{}: a pixel {} rows and {} columns into a window; 255 are allowed", what,
                     pixel[0], pixel[1]),
         place);
  }
  Box box{t};
  box.first = position[3];
  box.width = t.box_channels;
  box.columns = t.channels;
  for (unsigned i = 0; i < t.box_pixels; ++i) {
    std::int64_t const h = row + pixel[0], w = column + pixel[1];
    bool const is_inside =
        image >= 0 && image < t.images && h >= 0 && h < t.rows && w >= 0 && w < t.columns;
    box.starts.push_back(is_inside ? ((image * t.rows + h) * t.columns + w) * t.pixel
                                   : Box::kOutside);
    column += t.step;
    if (column < end_column) continue;
    column = t.first_column;
    row += t.step;
    if (row < end_row) continue;
    row = t.first_row;
    ++image;
  }
  return box;
}

/// A load of a box to this block.
void start_box_load(Box const& box, void* shared, MBarrier* barrier, char const* what,
                    Place place) {
  box.check(shared, what, place);
  box.each_row([&](std::int64_t, unsigned char const* global, std::size_t n) {
    race::read_by_async_proxy(global, n, place);
  });
  start_load(shared, box.bytes(), barrier, what, place, [=](unsigned char* to) { box.load(to); });
}

template <class T>
void add_to(unsigned char* to, unsigned char const* from, Place place) {
  race::atomic_access(to, sizeof(T), true, place);
  T sum, term;
  std::memcpy(&sum, to, sizeof(T));
  std::memcpy(&term, from, sizeof(T));
  sum += term;
  std::memcpy(to, &sum, sizeof(T));
}

}  // namespace

void bulk_load(void* shared, void const* global, unsigned bytes, MBarrier* barrier, Place place) {
  check_bulk(shared, global, bytes, "bulk_load", place);
  if (bytes == 0) return;
  race::read_by_async_proxy(global, bytes, place);
  start_load(shared, bytes, barrier, "bulk_load", place,
             [=](unsigned char* to) { std::memcpy(to, global, bytes); });
}

void bulk_copy_cluster(void* shared, void const* from, unsigned bytes, MBarrier* barrier,
                       unsigned rank, Place place) {
  constexpr char const* kWhat = "bulk_copy_cluster";
  if (shared_offset(shared, place) % 16 != 0 || shared_offset(from, place) % 16 != 0 ||
      bytes % 16 != 0) {
    fail(fmt::format("{}: addresses and size must be multiples of 16 bytes; the size is {}", kWhat,
                     bytes),
         place);
  }
  Block& there = block_of_cluster(rank, kWhat, place);
  if (bytes == 0) return;
  auto const* const source = static_cast<unsigned char const*>(from);
  shared_offset(source + bytes - 1, place);
  async_proxy::reads(source, bytes, kWhat, place);
  race::read(source, bytes, place);
  start_load(
      &there.threads[0], cluster_map(shared, rank, place), bytes,
      static_cast<MBarrier*>(cluster_map(barrier, rank, place)), kWhat, place,
      [=, here = current->block, data = std::vector(source, source + bytes)](unsigned char* to) {
        if (here->done == here->threads.size()) {
          fail(fmt::format("{}: the block that it copies from has ended", kWhat), place);
        }
        if (std::memcmp(data.data(), source, bytes) != 0) {
          fail(fmt::format("{}: shared memory that it reads was changed before it was complete",
                           kWhat),
               place);
        }
        std::memcpy(to, data.data(), bytes);
      });
}

void bulk_store(void* global, void const* shared, unsigned bytes, Place place) {
  check_bulk(shared, global, bytes, "bulk_store", place);
  if (bytes == 0) return;
  race::write_by_async_proxy(global, bytes, place);
  start_store(shared, bytes, "bulk_store", place, [=](unsigned char const* data) {
    race::write_by_async_proxy(global, bytes, place);
    std::memcpy(global, data, bytes);
  });
}

void bulk_reduce_add_f32(float* global, float const* shared, unsigned bytes, Place place) {
  check_bulk(shared, global, bytes, "bulk_reduce_add_f32", place);
  if (bytes == 0) return;
  race::atomic_access(global, bytes, true, place);
  start_store(shared, bytes, "bulk_reduce_add_f32", place, [=](unsigned char const* data) {
    auto* const to = reinterpret_cast<unsigned char*>(global);
    for (unsigned i = 0; i < bytes; i += 4) add_to<float>(to + i, data + i, place);
  });
}

void bulk_commit() { ++stores_of(*current).group; }

void bulk_wait(unsigned newest) {
  Stores& stores = stores_of(*current);
  std::erase_if(stores.open, [&](auto const& store) {
    if (store->group + newest >= stores.group) return false;
    complete(*store);
    race::read(store->shared, store->data.size(), store->place);
    return true;
  });
}

void bulk_prefetch(void const* global, unsigned bytes, Place place) {
  if (!is_aligned(global, 16) || bytes % 16 != 0) {
    fail("bulk_prefetch: address and size must be multiples of 16 bytes", place);
  }
  check_global(global, bytes, "bulk_prefetch", place);
}

void tensor_load(void* shared, ptx::TensorMap const& map, std::span<int const> position,
                 MBarrier* barrier, Place place) {
  constexpr char const* kWhat = "tensor_load";
  start_box_load(box_of(map, position, kWhat, place), shared, barrier, kWhat, place);
}

void tensor_load_pixels(void* shared, ptx::TensorMap const& map, std::span<int const> position,
                        std::span<std::uint16_t const> pixel, MBarrier* barrier, Place place) {
  constexpr char const* kWhat = "tensor_load_pixels";
  start_box_load(box_of_images(map, position, pixel, kWhat, place), shared, barrier, kWhat, place);
}

void tensor_load_multicast(void* shared, ptx::TensorMap const& map, int row, int column,
                           MBarrier* barrier, std::uint16_t blocks, Place place) {
  constexpr char const* kWhat = "tensor_load_multicast";
  int const position[] = {row, column};
  Box const box = box_of(map, position, kWhat, place);
  box.check(shared, kWhat, place);
  if (blocks == 0) fail(fmt::format("{}: it names no block", kWhat), place);
  box.each_row([&](std::int64_t, unsigned char const* global, std::size_t n) {
    race::read_by_async_proxy(global, n, place);
  });
  for (unsigned rank = 0; rank < 16; ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    Block& there = block_of_cluster(rank, kWhat, place);
    auto* const barrier_there = static_cast<MBarrier*>(cluster_map(barrier, rank, place));
    start_load(&there.threads[0], cluster_map(shared, rank, place), box.bytes(), barrier_there,
               kWhat, place, [=](unsigned char* to) { box.load(to); });
  }
}

void tensor_store(ptx::TensorMap const& map, std::span<int const> position, void const* shared,
                  bool add, Place place) {
  Box box = box_of(map, position, "tensor_store", place);
  box.round_up_columns();
  box.check(shared, "tensor_store", place);
  if (std::any_of(position.begin(), position.end(), [](int index) { return index < 0; })) {
    fail(fmt::format("tensor_store: an index of {} is negative, which only loads may be",
                     fmt::join(position, ", ")),
         place);
  }
  auto const type = box.type;
  if (add && type != core::DataType::f32 && type != core::DataType::i32) {
    fail("tensor_reduce_add: the model knows f32 and i32", place);
  }
  auto const record_write = [=] {
    box.each_row([&](std::int64_t, unsigned char* global, std::size_t n) {
      if (add) return race::atomic_access(global, n, true, place);
      race::write_by_async_proxy(global, n, place);
    });
  };
  record_write();
  start_store(shared, box.bytes(), add ? "tensor_reduce_add" : "tensor_store", place,
              [=](unsigned char const* data) {
                record_write();
                box.each_element([&](unsigned char* global, unsigned at) {
                  if (!add) {
                    std::memcpy(global, data + at, box.size());
                  } else if (type == core::DataType::f32) {
                    add_to<float>(global, data + at, place);
                  } else {
                    add_to<std::int32_t>(global, data + at, place);
                  }
                });
              });
}

}  // namespace quadrille::simt
