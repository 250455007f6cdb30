# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""explain says what bounds the resident blocks of a kernel, and which thread has which number.

launches_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal, write_journal  # noqa: E402

# 132 x 2048 threads; 37 registers of 1024 threads are more than half of 64 Ki.
KERNEL = ("gemm_shared_tile_kernel<float, 32>: grid 128x128x1, block 32x32x1, 37 registers, 8192 B shared, 1 blocks a "
          "multiprocessor (50 % of its threads), 124.12 waves")


def rows(shown):
    return [line.split() for line in shown.stdout.splitlines() if line.strip()]


def explain(program, *words):
    return program.call("explain", *words, ranks=0, env={**os.environ, "COLUMNS": "240"})


def check_occupancy(program):
    shown = explain(program, "occupancy")
    limits = {row[0]: row for row in rows(shown)}
    check(shown.returncode == 0 and {"A100", "H200", "B200"} <= limits.keys(), "devices", shown)
    check(limits["H200"][1:7] == ["9.0", "2048", "64", "32", "65536", "256"], f"{limits['H200']}", shown)
    shown = explain(program, "occupancy", "H100", "SXM")
    check(shown.returncode == 0 and "H100 SXM" in shown.stdout and "A100" not in shown.stdout, "one device", shown)
    shown = explain(program, "occupancy", "H100", "SMX")
    check(shown.returncode == 2 and "did you mean 'H100 SXM'" in shown.stderr, "no such device", shown)

    directory = program.run("--case", "vector", "--set", "size=64", "--set", "variant=reference", "--set", "run.device=host",
                            "--set", "run.repetitions=2")[2]
    shown = explain(program, "occupancy", directory)
    check(shown.returncode == 2 and "there are no kernels in it" in shown.stderr, "a result of a host", shown)
    lines = read_journal(directory)
    records = [line for line in lines if "seconds" in line]
    for record in records:
        record.update(kernels=[KERNEL], device="NVIDIA H200")
    write_journal(directory, lines)
    shown = explain(program, "occupancy", directory / "result.jsonl")
    check(shown.returncode == 0, "a result of a GPU", shown)
    row = next(row for row in rows(shown) if row[0] == "reference")
    # By threads 2, by registers 1, by shared memory 25 of 8 KiB and the system's one, by blocks 32.
    check(row[-11:] == ["2", "1", "25", "32", "1", "50", "%", "registers;", "by", "threads", "2"], f"{row}", shown)
    for record in records:
        record["kernels"] = ["gemm_kernel: grid 1x1x1, block 32x1x1, 37 registers, 8.00 KiB shared"]
    write_journal(directory, lines)
    shown = explain(program, "occupancy", directory / "result.jsonl")
    check(shown.returncode == 2 and "run its input again" in shown.stderr, "kernels of another version", shown)


def check_indices(program):
    shown = explain(program, "indices")
    found = rows(shown)
    check(shown.returncode == 0 and ["(1)", "1", "1", "(32)", "(63)", "96", "127"] in found, "two blocks of 64", shown)
    check(["(0", "3)", "3", "3", "(0", "3)", "(31", "3)", "480", "511", "480", "511"] in found, "four of 32 x 4", shown)
    shown = explain(program, "indices", "2x2", "8x8")
    # Rows of 16 threads: the second block begins in the middle of the first row, its second warp in the fifth.
    check(["(1", "0)", "1", "1", "(0", "4)", "(7", "7)", "96", "127", "72", "127"] in rows(shown), "2 x 2 of 8 x 8", shown)
    for words in (("2",), ("2", "2048"), ("0", "32"), ("2x", "32"), ("2x2x2x2", "32"), ("2", "32", "4")):
        shown = explain(program, "indices", *words)
        check(shown.returncode == 2 and "quadrille explain indices 2x2 32x4" in shown.stderr, f"{words}", shown)


def main():
    program = Program(sys.argv[1:])
    check_occupancy(program)
    check_indices(program)
    print("limits and numbers are right")


main()
