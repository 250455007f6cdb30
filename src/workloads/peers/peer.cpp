// SPDX-FileCopyrightText: 2026 The Quadrille developers
// SPDX-License-Identifier: Apache-2.0
#include "workloads/peers/peer.hpp"

#include "workloads/tables.hpp"

namespace quadrille::workloads {

extern constinit Peer<PeerProduct> const scalapack_product, cublasmp_product;
extern constinit Peer<PeerTranspose> const scalapack_transpose, cublasmp_transpose;

template <>
std::span<Peer<PeerProduct> const* const> peers() {
  static constexpr Peer<PeerProduct> const* all[] = {
#ifdef QUADRILLE_SCALAPACK
      &scalapack_product,
#endif
      &cublasmp_product};
  return all;
}

template <>
std::span<Peer<PeerTranspose> const* const> peers() {
  static constexpr Peer<PeerTranspose> const* all[] = {
#ifdef QUADRILLE_SCALAPACK
      &scalapack_transpose,
#endif
      &cublasmp_transpose};
  return all;
}

std::string library_unavailable(kernels::VariantInfo const& row) {
  if (auto const* peer = find_row(peers<PeerProduct>(), row)) {
    return peer->unavailable_reason(nullptr);
  }
  auto const* peer = find_row(peers<PeerTranspose>(), row);
  return peer == nullptr ? "" : peer->unavailable_reason(nullptr);
}

}  // namespace quadrille::workloads
