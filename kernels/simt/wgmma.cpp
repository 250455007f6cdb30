// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
//
// Model of wgmma. Descriptors are decoded in full. Operands are read at the issue and once more at
// the wait: when they differ, somebody has overwritten what the tensor cores may not have read yet.
// Changes of A in registers between issue and wait are not seen.

#include "simt/wgmma.hpp"

#include "core/types.hpp"
#include "simt/async_proxy.hpp"
#include "simt/race.hpp"

#include <cuda_fp16.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <vector>

namespace quadrille::simt {
namespace {

constexpr int kM = 64;
constexpr unsigned kWarpgroup = 128;
constexpr unsigned kPieceBytes = 16;  ///< what a swizzle moves as one
constexpr std::uint32_t kNan = 0xFFFFFFFF;

/// What a descriptor says.
struct Operand {
  unsigned start, leading, stride, span;
  bool swizzled, mn_major;

  Operand(std::uint64_t bits, bool is_mn_major, Place place) : mn_major{is_mn_major} {
    if ((bits & 0x3FFEC000C000C000) != 0) {
      fail(fmt::format("wgmma: descriptor {:#018x} has bits that must be zero", bits), place);
    }
    auto const field = [&](int shift) {
      return static_cast<unsigned>(bits >> shift & 0x3FFF) << 4;
    };
    start = field(0);
    leading = field(16);
    stride = field(32);
    constexpr unsigned kSpans[] = {16, 128, 64, 32};
    span = kSpans[bits >> 62];
    swizzled = bits >> 62 != 0;
  }

  /// Offset in shared memory of element (row along M or N, k) of `size` bytes.
  unsigned offset(unsigned row, unsigned k, unsigned size) const {
    unsigned at = start;
    if (mn_major) {
      unsigned const byte = row * size;
      unsigned const along_mn = swizzled ? leading : stride;
      unsigned const along_k = swizzled ? stride : leading;
      at += byte / span * along_mn + k / 8 * along_k + k % 8 * span + byte % span;
    } else {
      unsigned const byte = k * size;
      at += row / 8 * stride + row % 8 * span;
      at += swizzled ? byte : byte / kPieceBytes * leading + byte % kPieceBytes;
    }
    unsigned const pieces = span / kPieceBytes;
    return at ^ (at >> 7 & (pieces - 1)) << 4;
  }
};

unsigned size_of(WgmmaType type) {
  switch (type) {
    case WgmmaType::tf32: return 4;
    case WgmmaType::s8:
    case WgmmaType::e4m3:
    case WgmmaType::e5m2: return 1;
    default: return 2;
  }
}
unsigned depth_of(WgmmaType type) { return 32 / size_of(type); }

float value_of(std::uint32_t bits, WgmmaType type) {
  switch (type) {
    case WgmmaType::f16:
    case WgmmaType::f16_in_f16: {
      __half_raw raw;
      raw.x = static_cast<unsigned short>(bits);
      return __half2float(__half(raw));
    }
    case WgmmaType::bf16: bits <<= 16; break;
    case WgmmaType::tf32: bits &= 0xFFFFE000; break;
    case WgmmaType::e4m3: {
      core::e4m3 small;
      small.bits = static_cast<std::uint8_t>(bits);
      return static_cast<float>(small);
    }
    case WgmmaType::e5m2: bits <<= 8; return value_of(bits, WgmmaType::f16);
    case WgmmaType::s8: break;  // of no float
  }
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::uint32_t half_bits(float value) { return __half_raw(__float2half_rn(value)).x; }

/// Where the accumulators of a warpgroup are and what they hold, from the first issue to the wait.
struct Accumulators {
  std::array<std::uint32_t*, kWarpgroup> registers;
  std::vector<float> values;  ///< 64 x N; of s32 the bits
  int n;
  bool in_halves;
  unsigned operations = 0;

  unsigned count() const { return static_cast<unsigned>(in_halves ? n / 4 : n / 2); }

  /// Calls f(value, register, whether it is the upper half) for each accumulator of thread t.
  template <class F>
  void each(unsigned t, F&& f) {
    for (unsigned i = 0; i < static_cast<unsigned>(n) / 2; ++i) {
      unsigned const row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      unsigned const column = i / 4 * 8 + t % 4 * 2 + i % 2;
      f(values[row * static_cast<unsigned>(n) + column], registers[t][in_halves ? i / 2 : i],
        i % 2 == 1);
    }
  }
  void take() {
    values.resize(static_cast<std::size_t>(kM * n));
    for (unsigned t = 0; t < kWarpgroup; ++t) {
      each(t, [&](float& value, std::uint32_t word, bool upper) {
        if (in_halves) {
          value = value_of(upper ? word >> 16 : word & 0xFFFF, WgmmaType::f16);
        } else {
          std::memcpy(&value, &word, sizeof(value));
        }
      });
      std::fill_n(registers[t], count(), kNan);
    }
  }
  void give() {
    for (unsigned t = 0; t < kWarpgroup; ++t) {
      each(t, [&](float value, std::uint32_t& word, bool upper) {
        if (!in_halves) {
          std::memcpy(&word, &value, sizeof(word));
        } else {
          word = upper ? (word & 0xFFFF) | half_bits(value) << 16 : half_bits(value);
        }
      });
    }
  }
  bool untouched() const {
    for (std::uint32_t const* const d : registers) {
      if (std::any_of(d, d + count(), [](std::uint32_t word) { return word != kNan; })) {
        return false;
      }
    }
    return true;
  }
};

/// One wgmma between its issue and its wait.
struct Operation {
  Wgmma what;
  std::uint64_t a, b;
  bool a_in_registers;
  Place place;
  unsigned group = 0;
  std::uint32_t* key = nullptr;  ///< of its accumulators: those of the first thread
  std::vector<std::uint32_t> a_bits{}, b_bits{};
};

struct Warpgroup {
  std::vector<Operation> open;
  std::vector<Operation> retired;  ///< by the last wait
  std::map<std::uint32_t*, Accumulators> accumulators;
  unsigned group = 0;
  bool fenced = false;
};
Warpgroup& warpgroup() {
  static char const key = 0;
  return block_state<std::map<unsigned, Warpgroup>>(&key)[current->linear / kWarpgroup];
}

std::vector<std::uint32_t> read_operand(std::uint64_t bits, bool mn_major, int rows, WgmmaType type,
                                        Place place) {
  Operand const operand{bits, mn_major, place};
  Block const& block = *current->block;
  unsigned const size = size_of(type);
  unsigned const depth = depth_of(type);
  std::vector<std::uint32_t> values(static_cast<unsigned>(rows) * depth);
  for (unsigned row = 0; row < static_cast<unsigned>(rows); ++row) {
    for (unsigned k = 0; k < depth; ++k) {
      unsigned const at = operand.offset(row, k, size);
      if (at + size > block.used) {
        fail(fmt::format("wgmma: element ({}, {}) of an operand is at byte {} of shared memory, "
                         "behind its end; check the offsets of the descriptor",
                         row, k, at),
             place);
      }
      std::memcpy(&values[row * depth + k], block.arena + at, size);
    }
  }
  return values;
}

/// Calls f(16 bytes in shared memory) for each piece of rows [first, first + rows) of an operand.
template <class F>
void each_piece(std::uint64_t bits, bool mn_major, unsigned first, unsigned rows, WgmmaType type,
                Place place, F&& f) {
  Operand const operand{bits, mn_major, place};
  unsigned const size = size_of(type);
  unsigned const wide = kPieceBytes / size;
  for (unsigned row = first; row < first + rows; row += mn_major ? wide : 1) {
    for (unsigned k = 0; k < depth_of(type); k += mn_major ? 1 : wide) {
      f(current->block->arena + operand.offset(row, k, size));
    }
  }
}

/// Tells the race detector what this warp's part of the operation reads: its 16 rows of A, all B.
void record_reads(Operation const& o) {
  if (!race::enabled() || current->lane != 0) return;
  auto const read = [&](unsigned char const* piece) { race::read(piece, kPieceBytes, o.place); };
  if (!o.a_in_registers) {
    each_piece(o.a, o.what.a_mn_major, current->linear % kWarpgroup / 32 * 16, 16, o.what.type,
               o.place, read);
  }
  each_piece(o.b, o.what.b_mn_major, 0, static_cast<unsigned>(o.what.n), o.what.type, o.place,
             read);
}

/// What each thread brings to the issue.
struct Issue {
  Operation operation;
  std::uint32_t* d;
  std::uint32_t const* a_registers;
};

bool same(Operation const& x, Operation const& y) {
  return x.what == y.what && x.a == y.a && x.b == y.b && x.a_in_registers == y.a_in_registers;
}

/// A of 64 x K from the registers of all threads.
std::vector<std::uint32_t> gather_registers(std::span<void*> arguments, WgmmaType type) {
  unsigned const depth = depth_of(type);
  std::vector<std::uint32_t> values(kM * depth);
  for (unsigned t = 0; t < kWarpgroup; ++t) {
    std::uint32_t const* const a = static_cast<Issue const*>(arguments[t])->a_registers;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned const row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8;
      if (type == WgmmaType::tf32) {
        values[row * depth + i / 2 * 4 + t % 4] = a[i];
        continue;
      }
      unsigned const size = size_of(type), of_register = 4 / size;
      unsigned const k = i / 2 * (depth / 2) + t % 4 * of_register;
      for (unsigned e = 0; e < of_register; ++e) {
        values[row * depth + k + e] = a[i] >> 8 * size * e & (size == 1 ? 0xFFU : 0xFFFFU);
      }
    }
  }
  return values;
}

void issue(std::span<void*> arguments) {
  Warpgroup& group = warpgroup();
  auto const& first = *static_cast<Issue const*>(arguments[0]);
  Operation operation = first.operation;
  Wgmma const& what = operation.what;
  Place const place = operation.place;
  for (void* const argument : arguments) {
    if (!same(static_cast<Issue const*>(argument)->operation, operation)) {
      fail("wgmma: threads of the warpgroup give different descriptors or shapes", place);
    }
  }

  operation.key = first.d;
  auto found = group.accumulators.find(first.d);
  if (found == group.accumulators.end()) {
    if (!group.fenced) fail("wgmma: no wgmma_fence() since the accumulators were usable", place);
    Accumulators taken{};
    taken.n = what.n;
    taken.in_halves = what.type == WgmmaType::f16_in_f16;
    for (unsigned t = 0; t < kWarpgroup; ++t) {
      taken.registers[t] = static_cast<Issue const*>(arguments[t])->d;
    }
    taken.take();
    found = group.accumulators.emplace(first.d, std::move(taken)).first;
  } else if (found->second.n != what.n ||
             found->second.in_halves != (what.type == WgmmaType::f16_in_f16)) {
    fail("wgmma: the accumulators are in use by a wgmma of another shape", place);
  } else if (!found->second.untouched()) {
    fail("wgmma: accumulators were written between issue and wait", place);
  }
  ++found->second.operations;

  auto const record = [&](unsigned char const* piece) {
    async_proxy::reads(piece, kPieceBytes, "wgmma", place);
  };
  if (operation.a_in_registers) {
    operation.a_bits = gather_registers(arguments, what.type);
  } else {
    operation.a_bits = read_operand(operation.a, what.a_mn_major, kM, what.type, place);
    each_piece(operation.a, what.a_mn_major, 0, kM, what.type, place, record);
  }
  operation.b_bits = read_operand(operation.b, what.b_mn_major, what.n, what.type, place);
  each_piece(operation.b, what.b_mn_major, 0, static_cast<unsigned>(what.n), what.type, place,
             record);
  operation.group = group.group;
  group.open.push_back(std::move(operation));
}

/// As the tensor cores of sm_90 add products of 8-bit floats: each addend loses what lies below 2^-13 of the
/// largest one's power of two.
float add_cut(float value, std::span<float const> products) {
  float largest = std::abs(value);
  for (float const product : products) largest = std::max(largest, std::abs(product));
  double const unit = std::ldexp(1.0, std::ilogb(largest) - 13);
  if (largest == 0 || !std::isfinite(largest)) {
    return std::accumulate(products.begin(), products.end(), value);
  }
  double sum = std::trunc(value / unit);
  for (float const product : products) sum += std::trunc(product / unit);
  return static_cast<float>(sum * unit);
}

/// D = A B or D += A B.
void multiply(Operation const& o, std::vector<float>& d) {
  unsigned const depth = depth_of(o.what.type);
  auto const n = static_cast<unsigned>(o.what.n);
  std::vector<float> b(depth * n);
  for (unsigned k = 0; k < depth; ++k) {
    for (unsigned j = 0; j < n; ++j) b[k * n + j] = value_of(o.b_bits[j * depth + k], o.what.type);
  }
  std::vector<float> sums(n), products(depth);
  for (unsigned i = 0; i < kM; ++i) {
    if (o.what.type == WgmmaType::e4m3 || o.what.type == WgmmaType::e5m2) {
      for (unsigned j = 0; j < n; ++j) {
        for (unsigned k = 0; k < depth; ++k) {
          products[k] = value_of(o.a_bits[i * depth + k], o.what.type) * b[k * n + j];
        }
        float& value = d[i * n + j];
        value = add_cut(o.what.accumulate ? value : 0.0F, products);
      }
      continue;
    }
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (unsigned k = 0; k < depth; ++k) {
      float const a = value_of(o.a_bits[i * depth + k], o.what.type);
      for (unsigned j = 0; j < n; ++j) sums[j] += a * b[k * n + j];
    }
    for (unsigned j = 0; j < n; ++j) {
      float& value = d[i * n + j];
      value = (o.what.accumulate ? value : 0.0F) + sums[j];
      if (o.what.type == WgmmaType::f16_in_f16) {
        value = value_of(half_bits(value), WgmmaType::f16);
      }
    }
  }
}

/// The same of integers, modulo 2^32.
void multiply_integers(Operation const& o, std::vector<float>& d) {
  unsigned const depth = depth_of(o.what.type);
  auto const n = static_cast<unsigned>(o.what.n);
  auto const value_at = [&](std::vector<std::uint32_t> const& bits, unsigned row, unsigned k) {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits[row * depth + k]));
  };
  for (unsigned i = 0; i < kM; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      float& bits = d[i * n + j];
      auto sum = o.what.accumulate ? std::bit_cast<std::uint32_t>(bits) : 0U;
      for (unsigned k = 0; k < depth; ++k)
        sum += value_at(o.a_bits, i, k) * value_at(o.b_bits, j, k);
      bits = std::bit_cast<float>(sum);
    }
  }
}

void retire(Warpgroup& group, Operation& o) {
  bool const changed =
      (!o.a_in_registers &&
       o.a_bits != read_operand(o.a, o.what.a_mn_major, kM, o.what.type, o.place)) ||
      o.b_bits != read_operand(o.b, o.what.b_mn_major, o.what.n, o.what.type, o.place);
  if (changed) {
    fail("wgmma: shared memory that it reads was written between its issue and its wait", o.place);
  }
  Accumulators& accumulators = group.accumulators[o.key];
  if (!accumulators.untouched()) {
    fail("wgmma: accumulators were written between issue and wait", o.place);
  }
  (o.what.type == WgmmaType::s8 ? multiply_integers : multiply)(o, accumulators.values);
  if (--accumulators.operations == 0) {
    accumulators.give();
    group.accumulators.erase(o.key);
  }
}

void wait(std::span<void*> arguments) {
  Warpgroup& group = warpgroup();
  unsigned const newest = *static_cast<unsigned const*>(arguments[0]);
  group.retired.clear();
  auto const first_left =
      std::find_if(group.open.begin(), group.open.end(),
                   [&](Operation const& o) { return o.group + newest >= group.group; });
  for (auto o = group.open.begin(); o != first_left; ++o) {
    retire(group, *o);
    group.retired.push_back(std::move(*o));
  }
  group.open.erase(group.open.begin(), first_left);
  group.fenced = false;
}

}  // namespace

std::uint64_t matrix_address(void const* shared, Place place) {
  std::size_t const offset = shared_offset(shared, place);
  if (offset % 16 != 0) fail("matrix_descriptor: the address must be aligned to 16 bytes", place);
  return offset;
}

void wgmma(Wgmma const& operation, void* d, std::uint64_t a, unsigned const* a_registers,
           std::uint64_t b, Place place) {
  Issue mine{{operation, a, b, a_registers != nullptr, place},
             static_cast<std::uint32_t*>(d),
             a_registers};
  record_reads(mine.operation);
  group_meet(kWarpgroup, issue, &mine, place, "wgmma");
}

void wgmma_fence(Place place) {
  group_meet(
      kWarpgroup, [](std::span<void*>) { warpgroup().fenced = true; }, nullptr, place,
      "wgmma_fence");
}

void wgmma_commit(Place place) {
  group_meet(
      kWarpgroup, [](std::span<void*>) { ++warpgroup().group; }, nullptr, place, "wgmma_commit");
}

void wgmma_wait(unsigned newest, Place place) {
  group_meet(kWarpgroup, wait, &newest, place, "wgmma_wait");
  for (Operation const& operation : warpgroup().retired) record_reads(operation);
}

}  // namespace quadrille::simt
