// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

/// Calls of the vendor's libraries as a program that knows nothing of Quadrille makes them, with
/// handles, streams, buffers and data of their own. They share no code with the rows that they are
/// there to audit. What fails ends the program.
namespace quadrille::audit {

/// One call, again and again.
class Loop {
 public:
  Loop();
  Loop(Loop const&) = delete;
  Loop& operator=(Loop const&) = delete;
  virtual ~Loop();

  /// Seconds of one of `calls` calls, one enqueued behind the other between two events. They begin when
  /// the host has enqueued all of them, or as many as a queue takes without waiting.
  double seconds(int calls);
  static constexpr int kMaxHeldBack = 200;
  /// Which call it is.
  virtual std::string name() const = 0;

 protected:
  virtual void call() = 0;
  struct Queue;
  Queue& queue() const { return *queue_; }

 private:
  std::unique_ptr<Queue> queue_;
};

enum class Type { f64, f32 };
enum class Direction { d2d, h2d, d2h };

/// What A and B hold, what is computed in and C holds where that is something else.
enum class Precision { f64, f32, tf32, f16, f16_to_f32, f16_in_f16, bf16, bf16_to_f32 };
/// C = A B of n x n matrices: the fastest of cublasDgemm, Sgemm or GemmEx in default math mode and
/// of the algorithms that cuBLASLt names, with no sum of parts in less than what is computed in.
std::unique_ptr<Loop> gemm(Precision precision, std::int64_t n);
/// cublasDgeam or Sgeam: the transpose of an n x n matrix.
std::unique_ptr<Loop> transpose(Type type, std::int64_t n);
/// cub::DeviceReduce::Sum in the type of the elements.
std::unique_ptr<Loop> sum(Type type, std::int64_t n);
std::unique_ptr<Loop> dot(Type type, std::int64_t n);
std::unique_ptr<Loop> norm2(Type type, std::int64_t n);
/// cudaMemcpyAsync; host memory is page-locked.
std::unique_ptr<Loop> copy(Direction direction, std::int64_t bytes);

/// NCCL among the ranks of a job, one GPU each. Collective, as is every call that it makes.
class Ranks {
 public:
  /// A text of rank 0 for all ranks' constructors.
  static std::string make_id();
  Ranks(std::string const& id, int ranks, int rank);
  ~Ranks();

  // Of n elements of f32 on each rank.
  std::unique_ptr<Loop> allreduce(std::int64_t n);
  std::unique_ptr<Loop> broadcast(std::int64_t n);
  /// Each rank sends n / ranks elements to each, itself included.
  std::unique_ptr<Loop> alltoall(std::int64_t n);
  /// To the next rank, from the previous one.
  std::unique_ptr<Loop> sendrecv(std::int64_t n);

  struct Communicator;

 private:
  std::unique_ptr<Communicator> communicator_;
};

}  // namespace quadrille::audit
