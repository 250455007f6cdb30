# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
#
# What a job loads before it starts, and what you load before you build. Copy to <site>.sh and
# set QUADRILLE_SITE=<site>.

# module purge
# module load gcc/12 cuda/12.6 openmpi/4.1 hdf5/1.14-parallel nccl/2.21
# export SLURM_MPI_TYPE=pmix            # what "srun --mpi=list" offers for this MPI
# export NCCL_SOCKET_IFNAME=ib0         # the network NCCL starts over
# export UCX_NET_DEVICES=mlx5_0:1

# Two streams of one rank compute at once: OpenMP would bind the threads of both to the same cores.
export OMP_PROC_BIND=false
