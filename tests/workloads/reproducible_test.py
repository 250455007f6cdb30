# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Reproducible integrals and reductions give the same bits at 1, 2, 3 and 5 ranks by every transport.

reproducible_test.py BINARY LAUNCHER...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 1
warmup = { count = 1, seconds = 0 }
save = true
vendor = "off"

[[case]]
name = "integral"
workload = "integral"
type = ["f64", "f32"]
size = "300007"
variant = "all"
reproducible = true

[[case]]
name = "sum"
workload = "reduction"
operation = ["sum", "dot", "norm2"]
type = ["f64", "f32"]
size = "300007"
variant = "all"
reproducible = true
"""


def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT)
    digests = {}
    for ranks, transport, nodes in ((1, "auto", 1), (2, "ipc", 1), (3, "mpi", 1), (5, "ipc", 1), (5, "hybrid", 2)):
        process, report, _ = program.run(source, "--set", f"run.transport={transport}", "--fake-nodes", nodes, ranks=ranks)
        check(process.returncode == 0, f"{ranks} ranks must pass by {transport}", process)
        for case in report["cases"]:
            check(case["digest"], f"{case['id']}: no digest", process)
            # All variants of a case agree too, so the case alone is the key.
            first = digests.setdefault(case["id"].split(":")[0], (case["digest"], case["id"], ranks))
            check(first[0] == case["digest"],
                  f"{case['id']} at {ranks} ranks gives {case['digest']}, {first[1]} at {first[2]} gave {first[0]}",
                  process)
    check(len(digests) == 8, f"expected 8 cases, saw {sorted(digests)}")
    print(f"{len(digests)} results have the same bits at 1, 2, 3 and 5 ranks")


main()
