# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Quadrille for Spack 1.0 or later, built from the repository that this file lies in:

    spack repo add jobs/spack
    spack dev-build quadrille@main +cuda cuda_arch=90a ^intel-oneapi-mkl
"""

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Quadrille(CMakePackage, CudaPackage):
    """Benchmark of computation, communication and their overlap on hosts and GPUs under MPI, which
    checks every number that it prints."""

    license("Apache-2.0")

    version("main")

    variant("scalapack", default=True, description="Compare with ScaLAPACK")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("blas")
    depends_on("cuda@13:", when="+cuda")
    conflicts("cuda_arch=none", when="+cuda", msg="say cuda_arch=90a, or that of your GPUs")
    depends_on("fmt")
    depends_on("hdf5+mpi")
    depends_on("hwloc@2.1:")
    depends_on("kokkos@4.7:+openmp")
    depends_on("mpi")
    depends_on("scalapack", when="+scalapack")

    # CMake's names of them.
    blas_vendors = {
        "amdblis": "FLAME",
        "blis": "FLAME",
        "intel-oneapi-mkl": "Intel10_64lp",
        "openblas": "OpenBLAS",
    }

    def cmake_args(self):
        arguments = [
            self.define("QUADRILLE_TESTS", False),
            self.define_from_variant("QUADRILLE_CUDA", "cuda"),
            self.define("BLA_VENDOR", self.blas_vendors.get(self.spec["blas"].name, "All")),
        ]
        if self.spec.satisfies("+cuda"):
            arguments.append(
                self.define("QUADRILLE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value)
            )
        return arguments
