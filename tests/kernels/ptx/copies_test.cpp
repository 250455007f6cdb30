// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ptx/copies_kernels.hpp"
#include "support/instruction_test.hpp"

namespace quadrille::test {
namespace {

constexpr CopySize kSizes[] = {{4}, {8}, {16}, {16, true}, {16, false, true}, {16, true, true}};

using device::Device;
using device::StreamView;

std::vector<unsigned char> bytes_of_positions(std::size_t n) {
  std::vector<unsigned char> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  return bytes;
}

TEST(Copies, CpAsyncCopiesAndFillsWithZeros) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (CopySize const size : kSizes) {
      int const bytes = size.bytes;
      auto const n = static_cast<std::size_t>(64 * bytes);
      std::vector<unsigned char> const source = bytes_of_positions(n);
      DeviceArray<unsigned char> const from{device, stream, source};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};

      launch_cp_async(size, from.data(), from.data(), to.data(), 0, 0, stream);

      std::vector<unsigned char> expected = source;
      for (std::size_t i = n / 2; i < n; ++i) {
        if ((i - n / 2) / static_cast<std::size_t>(bytes) % 3 == 0) expected[i] = 0;
      }
      EXPECT_EQ(to.download(), expected) << bytes;
      EXPECT_TRUE(to.intact());
    }
  });
}

TEST(Copies, CpAsyncDoesNotReadAnInvalidSource) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (CopySize const size : kSizes) {
      int const bytes = size.bytes;
      auto const n = static_cast<std::size_t>(64 * bytes);
      DeviceArray<unsigned char> const from{device, stream, bytes_of_positions(n)};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};

      launch_cp_async(size, from.data(), nullptr, to.data(), 0, 0, stream);

      EXPECT_EQ(to.download()[n / 2], 0) << bytes;
    }
  });
}

TEST(Copies, CpAsyncCopiesTheFirstBytes) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const bytes : {8, 16}) {
      auto const n = static_cast<std::size_t>(32 * bytes);
      std::vector<unsigned char> const source = bytes_of_positions(n);
      DeviceArray<unsigned char> const from{device, stream, source};
      DeviceArray<unsigned char> const to{device, stream, static_cast<std::int64_t>(n)};

      launch_cp_async_first(bytes, from.data(), to.data(), stream);

      std::vector<unsigned char> expected = source;
      for (std::size_t i = 0; i < n; ++i) {
        auto const piece = static_cast<std::size_t>(bytes);
        if (i % piece >= i / piece % (piece + 1)) expected[i] = 0;
      }
      EXPECT_EQ(to.download(), expected) << bytes;
    }
  });
}

TEST(Copies, CpAsyncMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU cannot go on after it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<unsigned char> const from{device, stream, 2048};
    DeviceArray<unsigned char> const to{device, stream, 1024};
    auto const copy = [&](int bytes, int from_shift, int to_shift) {
      launch_cp_async({bytes}, from.data(), nullptr, to.data(), from_shift, to_shift, stream);
    };

    EXPECT_FINDS(copy(16, 8, 0), "not aligned to 16");
    EXPECT_FINDS(copy(16, 0, 8), "not aligned to 16");
    EXPECT_FINDS(copy(8, 4, 0), "not aligned to 8");
    EXPECT_FINDS(copy(8, 0, 4), "not aligned to 8");
    EXPECT_FINDS(copy(4, 2, 0), "not aligned to 4");
    EXPECT_FINDS(copy(4, 0, 1), "not aligned to 4");
    EXPECT_EQ(error_of([&] { copy(16, 16, 16); }), "");
  });
}

TEST(Copies, StreamingLoadsAndStores) {
  on_every_schedule([](Device& device, StreamView stream) {
    for (int const bytes : {4, 8, 16}) {
      int const n = 200;
      std::vector<unsigned char> const source =
          bytes_of_positions(static_cast<std::size_t>(n * bytes));
      DeviceArray<unsigned char> const from{device, stream, source};
      DeviceArray<unsigned char> const to{device, stream, n * bytes};

      launch_streaming(bytes, from.data(), to.data(), n, stream);

      EXPECT_EQ(to.download(), source) << bytes;
      EXPECT_TRUE(to.intact());
    }
  });
}

TEST(Copies, StreamingAccessesMustBeAligned) {
  if (has_gpu()) GTEST_SKIP() << "a GPU cannot go on after it";
  on_every_schedule([](Device& device, StreamView stream) {
    DeviceArray<unsigned char> const x{device, stream, 64};
    DeviceArray<unsigned char> const y{device, stream, 64};

    EXPECT_FINDS(launch_streaming(16, x.data() + 8, y.data(), 2, stream), "not aligned to 16");
    EXPECT_FINDS(launch_streaming(8, x.data(), y.data() + 4, 2, stream), "not aligned to 8");
    EXPECT_FINDS(launch_streaming(4, x.data() + 2, y.data(), 2, stream), "not aligned to 4");
  });
}

}  // namespace
}  // namespace quadrille::test
