# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""The library that products come from tells its name, runs on one thread in our loops, and a row that needs what it
lacks says so: with the library that was linked, one in its place, and the reference BLAS where Debian has it.

blas_test.py OWN_BLAS BINARY LAUNCHER...    OWN_BLAS: own_blas.cpp, for LD_PRELOAD
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 2
[[case]]
workload = "gemm"
type = "f64"
size = 64
variant = "vendor"
[[case]]
workload = "transpose"
type = "f64"
size = 64
variant = "vendor"
"""


def main():
    own_blas = sys.argv[1]
    program = Program(sys.argv[2:])
    source = program.input(INPUT)

    def blas_and_rows(preload):
        """What the run says of its library, and of its rows."""
        os.environ["LD_PRELOAD"] = preload
        process, report, _ = program.run(source)
        del os.environ["LD_PRELOAD"]
        check(report is not None, f"no result with {preload}", process)
        return report["run"]["build"]["blas"], {case["workload"]: case for case in report["cases"]}

    linked, rows = blas_and_rows("")
    check(linked and all(row["verdict"] == "PASS" for row in rows.values()), f"the library that was linked: {rows}")

    for preload, name in ((own_blas, "A BLAS of the test"),
                          (reference := "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3", reference)):
        if not pathlib.Path(preload).exists():
            continue
        blas, rows = blas_and_rows(preload)
        check(blas == name, f"{preload} is called {blas}")
        check(rows["gemm"]["verdict"] == "PASS", f"products by {preload}: {rows['gemm']}")
        lacks = rows["transpose"]
        check(lacks["verdict"] == "UNSUPPORTED" and f"needs cblas_domatcopy, which {name} lacks" in lacks["reason"],
              f"transposes by {preload}: {json.dumps(lacks)}")
    print("the bar on hosts is the library that is there")


main()
