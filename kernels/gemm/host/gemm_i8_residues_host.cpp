// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
/// @file
/// Product of f64 or f32 matrices by products in i8 of their residues (Ozaki scheme II), on the host.
///
///   C = alpha op(A) op(B) + beta C
///
/// Technique    the arithmetic of gemm_moduli.hpp, as `i8_residues` on GPUs has it: residues of B are made once,
///              those of a band of kBand rows of A, and of C, by the thread that computes the band, modulus
///              by modulus. There to show that both kinds of device leave the same bits, not to be fast: a
///              host multiplies f64 as fast as i8
/// Shapes       row-major, A and B as they are or transposed, any extents up to k = 65536, any leading
///              dimensions and alignment
/// Work         2 m n k flop, for which 14 (7 of f32) times as many are done in i8; memory: a byte for each
///              modulus and element of B
/// Launch       three parallel loops of the stream: columns of B, its residues, bands of C
/// Accuracy     1.5 eps |a| |b| of a row and a column, as the sum in the type itself, and whole numbers
///              exact. Rows and columns with infinities or NaN become NaN
#include "device/host/parallel.hpp"
#include "gemm/gemm.hpp"
#include "gemm/gemm_moduli.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::kernels::gemm {
namespace {

constexpr std::int64_t kBand = 16;

/// A matrix as op() has it: element (i, l) of rows that are scaled.
template <class T>
struct Lines {
  T const* data;
  std::int64_t line, step;

  double at(std::int64_t i, std::int64_t l) const {
    return static_cast<double>(data[i * line + l * step]);
  }
  int exponent(std::int64_t i, std::int64_t depth, Moduli const& moduli) const {
    Squares squares;
    for (std::int64_t l = 0; l < depth; ++l) squares.add(at(i, l));
    return exponent_of(squares, moduli);
  }
  std::uint64_t whole(std::int64_t i, std::int64_t l, int exponent) const {
    return exponent == kNotFinite ? shifted_whole(0, PowerOfTwo{0})
                                  : shifted_whole(at(i, l), PowerOfTwo{exponent});
  }
};

/// What the loops share.
template <class T>
struct Product {
  Problem p;
  Moduli const& moduli;
  Lines<T> a, b;                      ///< rows of op(A), columns of op(B)
  std::vector<int> exponents;         ///< of columns of B
  std::vector<std::int8_t> residues;  ///< of B, k x n for each modulus

  void add_exponents(std::int64_t j) {
    exponents[static_cast<std::size_t>(j)] = b.exponent(j, p.k(), moduli);
  }
  void add_residues(std::int64_t l) {
    for (std::int64_t j = 0; j < p.n(); ++j) {
      std::uint64_t const whole = b.whole(j, l, exponents[static_cast<std::size_t>(j)]);
      for (int t = 0; t < moduli.count; ++t) {
        residues[static_cast<std::size_t>((t * p.k() + l) * p.n() + j)] =
            residue_of(whole, moduli.moduli[t]);
      }
    }
  }
  void multiply(std::int64_t band) const {
    std::int64_t const first = band * kBand, rows = std::min(kBand, p.m() - first), n = p.n();
    auto const place = [&](std::int64_t row, std::int64_t j) {
      return static_cast<std::size_t>(row * n + j);
    };
    std::vector<std::vector<std::uint8_t>> of_c;
    std::vector<int> a_exponents;
    for (std::int64_t i = 0; i < rows; ++i) {
      a_exponents.push_back(a.exponent(first + i, p.k(), moduli));
    }
    for (int t = 0; t < moduli.count; ++t) {
      Modulus const& m = moduli.moduli[t];
      std::vector<std::int32_t> sums(place(rows, 0));
      for (std::int64_t l = 0; l < p.k(); ++l) {
        std::int8_t const* const line = residues.data() + (t * p.k() + l) * n;
        for (std::int64_t i = 0; i < rows; ++i) {
          std::int32_t const factor =
              residue_of(a.whole(first + i, l, a_exponents[static_cast<std::size_t>(i)]), m);
          std::int32_t* const sum = sums.data() + i * n;
          for (std::int64_t j = 0; j < n; ++j) sum[j] += factor * line[j];
        }
      }
      std::vector<std::uint8_t>& reduced = of_c.emplace_back();
      for (std::int32_t const sum : sums) reduced.push_back(residue_of_sum(sum, m));
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      T* const c = p.c.as<T>() + (first + i) * p.c.ld;
      for (std::int64_t j = 0; j < n; ++j) {
        int const s = a_exponents[static_cast<std::size_t>(i)],
                  e = exponents[static_cast<std::size_t>(j)];
        bool const is_finite = s != kNotFinite && e != kNotFinite;
        double const sum = is_finite
                               ? restored(moduli, s + e,
                                          [&](int t) {
                                            return static_cast<double>(
                                                of_c[static_cast<std::size_t>(t)][place(i, j)]);
                                          })
                               : std::numeric_limits<double>::quiet_NaN();
        double const old = p.beta == 0 ? 0 : p.beta * static_cast<double>(c[j]);
        c[j] = static_cast<T>(p.alpha * sum + old);
      }
    }
  }
};

template <class T>
void multiply(Problem const& p, device::StreamView stream) {
  int const count = p.moduli > 0 ? p.moduli : core::emulating_products(p.c.type);
  Product<T> product{p,
                     moduli_of(count),
                     {p.a.as<T>(), p.transpose_a ? 1 : p.a.ld, p.transpose_a ? p.a.ld : 1},
                     {p.b.as<T>(), p.transpose_b ? p.b.ld : 1, p.transpose_b ? 1 : p.b.ld},
                     std::vector<int>(static_cast<std::size_t>(p.n())),
                     std::vector<std::int8_t>(static_cast<std::size_t>(count * p.k() * p.n()))};
  device::parallel_for(stream, p.n(), [&](std::int64_t j) { product.add_exponents(j); });
  device::parallel_for(stream, p.k(), [&](std::int64_t l) { product.add_residues(l); });
  device::parallel_for(stream, (p.m() + kBand - 1) / kBand,
                       [&](std::int64_t band) { product.multiply(band); });
}

void launch(Problem const& problem, device::StreamView stream) {
  stream.run([problem, stream] {
    if (problem.c.type == core::DataType::f64) {
      multiply<double>(problem, stream);
    } else {
      multiply<float>(problem, stream);
    }
  });
}

}  // namespace

extern constinit Variant<Problem> const i8_residues_host{
    {.name = "i8_residues",
     .where = Where::host,
     .types = {{core::DataType::f64, core::Compute::emulated},
               {core::DataType::f32, core::Compute::emulated}},
     .needs = {.other = "k up to 65536"},
     .source = "own, after Ozaki, Uchino, Imamura 2025",
     .summary = "residues of eight bits and their products, to the bits of a GPU"},
    launch,
    {.unsupported = emulated_unsupported}};

}  // namespace quadrille::kernels::gemm
