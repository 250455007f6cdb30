// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/gemm_access.hpp"

/// Accesses that several techniques of the ladder share; each lists those that it makes.
namespace quadrille::kernels::gemm {

/// `Threads` threads copy a BM x BK tile of A and a BK x BN tile of B to shared memory: they go along
/// rows, with Width elements each, one pass after the other.
template <int BM, int BN, int BK, int Threads>
struct CopyAccess {
  template <int Cols, int Width>
  static constexpr Place along_rows(int t, int pass) {
    int const element = (t + pass * Threads) * Width;
    return {element / Cols, element % Cols};
  }
  template <int Width>
  static constexpr Place in_order(int t, int pass) {
    return {0, (t + pass * Threads) * Width};
  }
  /// A transposed, in rows of Pitch elements: each goes to a row of its own.
  template <int Width, int Pitch>
  static constexpr Place transposed(int t, int step) {
    Place const place = along_rows<BK, Width>(t, step / Width);
    return {0, (place.col + step % Width) * Pitch + place.row};
  }

  template <int Width>
  static constexpr Access kLoadA{Memory::a, Width, BM* BK / (Width * Threads),
                                 along_rows<BK, Width>};
  template <int Width>
  static constexpr Access kLoadB{Memory::b, Width, BK* BN / (Width * Threads),
                                 along_rows<BN, Width>};
  template <int Width>
  static constexpr Access kStoreA{Memory::shared_store, Width, BM* BK / (Width * Threads),
                                  in_order<Width>};
  template <int Width>
  static constexpr Access kStoreB{Memory::shared_store, Width, BK* BN / (Width * Threads),
                                  in_order<Width>};
  /// One element at a time, of vectors that were loaded with Width.
  template <int Width>
  static constexpr Access kTransposeA{Memory::shared_store, 1, BM* BK / Threads,
                                      transposed<Width, BM>};
};

/// Threads side by side along rows of a BM x BN tile of C, with Rows x Cols elements each. They read
/// one element of shared memory at a time.
template <int BM, int BN, int BK, int Rows, int Cols>
struct ThreadTileAccess {
  static constexpr int first_row(int t) { return t / (BN / Cols) * Rows; }
  static constexpr int first_col(int t) { return t % (BN / Cols) * Cols; }
  template <int Width>
  static constexpr Place of_c(int t, int step) {
    return {first_row(t) + step / (Cols / Width), first_col(t) + step % (Cols / Width) * Width};
  }
  static constexpr Place of_a(int t, int step) {
    return {0, (first_row(t) + step % Rows) * BK + step / Rows};
  }
  static constexpr Place of_transposed_a(int t, int step) {
    return {0, step / Rows * BM + first_row(t) + step % Rows};
  }
  template <int Pitch>
  static constexpr Place of_b(int t, int step) {
    return {0, step / Cols * Pitch + first_col(t) + step % Cols};
  }

  static constexpr Access kReadA{Memory::shared_load, 1, BK* Rows, of_a};
  static constexpr Access kReadTransposedA{Memory::shared_load, 1, BK* Rows, of_transposed_a};
  template <int Pitch = BN>
  static constexpr Access kReadB{Memory::shared_load, 1, BK* Cols, of_b<Pitch>};
  template <int Width>
  static constexpr Access kWriteC{Memory::c, Width, Rows* Cols / Width, of_c<Width>};
};

/// Vectors of four between global memory, registers and shared memory, with A transposed on its way.
template <int BM, int BN, int BK, int Rows, int Cols>
struct VectorizedAccess {
  static constexpr int kThreads = BM * BN / (Rows * Cols);
  using Copies = CopyAccess<BM, BN, BK, kThreads>;
  using Tiles = ThreadTileAccess<BM, BN, BK, Rows, Cols>;
  static constexpr Access kAll[]{Copies::template kLoadA<4>,      Copies::template kLoadB<4>,
                                 Copies::template kTransposeA<4>, Copies::template kStoreB<4>,
                                 Tiles::kReadTransposedA,         Tiles::template kReadB<>,
                                 Tiles::template kWriteC<4>};
};

}  // namespace quadrille::kernels::gemm
