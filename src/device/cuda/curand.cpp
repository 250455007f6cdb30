// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "device/cuda/library.hpp"
#include "device/cuda/stream.hpp"
#include "device/experiments.hpp"

#include <fmt/format.h>

#include <curand.h>
#include <map>

namespace quadrille::device {
namespace {

Library const& library() {
  static Library const curand{{"libcurand.so.10", "libcurand.so"}};
  return curand;
}

template <class Function, class... Arguments>
void call(char const* name, Arguments... arguments) {
  curandStatus_t const status = library().get<Function>(name)(arguments...);
  if (status != CURAND_STATUS_SUCCESS) {
    core::fail(fmt::format("{}: status {} of cuRAND", name, static_cast<int>(status)));
  }
}

curandGenerator_t make_generator(StreamView stream) {
  curandGenerator_t generator{};
  call<decltype(curandCreateGenerator)>("curandCreateGenerator", &generator,
                                        CURAND_RNG_PSEUDO_DEFAULT);
  call<decltype(curandSetPseudoRandomGeneratorSeed)>("curandSetPseudoRandomGeneratorSeed",
                                                     generator, 1ULL);
  call<decltype(curandSetStream)>("curandSetStream", generator, cuda_stream(stream));
  return generator;
}

}  // namespace

std::string curand_absent() { return library().why_absent(); }

void curand_uniform(void* to, core::DataType type, std::int64_t n, StreamView stream) {
  // They end with the process.
  static std::map<cudaStream_t, curandGenerator_t> generators;
  curandGenerator_t& generator = generators[cuda_stream(stream)];
  if (generator == nullptr) generator = make_generator(stream);
  auto const count = static_cast<std::size_t>(n);
  if (type == core::DataType::f64) {
    return call<decltype(curandGenerateUniformDouble)>("curandGenerateUniformDouble", generator,
                                                       static_cast<double*>(to), count);
  }
  call<decltype(curandGenerateUniform)>("curandGenerateUniform", generator, static_cast<float*>(to),
                                        count);
}

}  // namespace quadrille::device
