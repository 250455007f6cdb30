# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A profiler sees run, case, variant and repetition as nested ranges.

nvtx_test.py RECORDER BINARY LAUNCHER...    RECORDER: nvtx_recorder.cpp
"""
import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 3
warmup = { count = 1, seconds = 0 }
vendor = "off"
[[case]]
name = "sum"
workload = "vector"
size = 1000
variant = ["host_simd", "host_threads"]
[[case]]
name = "panels"
workload = "summa"
type = "f64"
size = 32
panel = 16
variant = "host_simd"
legs = true
"""


def main():
    recorder = sys.argv[1]
    program = Program(sys.argv[2:])
    os.environ["NVTX_INJECTION64_PATH"] = recorder
    process, report, _ = program.run(program.input(INPUT))
    check(report is not None and process.returncode == 0, "the run", process)
    ranges = collections.Counter(line.removeprefix("NVTX ") for line in process.stderr.splitlines()
                                 if line.startswith("NVTX "))
    check(ranges["/run"] == 1 and ranges["/run/sum"] == 1 and ranges["/run/panels"] == 1, f"run and cases: {ranges}")
    for path in ("sum/host_simd", "sum/host_threads", "panels/host_simd"):
        case, variant = path.split("/")
        check(ranges[f"/run/{case}/first run/{variant}/repetition"] == 1, f"the first run of {path}: {ranges}")
        # The warm-up, and at least those that were asked for.
        check(ranges[f"/run/{path}/repetition"] >= 4, f"repetitions of {path}: {ranges}")
        check(ranges[f"/run/{path}"] >= ranges[f"/run/{path}/repetition"], f"a variant around each: {ranges}")
    for leg in ("compute", "communicate", "serial"):
        check(ranges[f"/run/panels/host_simd/{leg}"] >= 4, f"the leg {leg}: {ranges}")
    print("profilers see what runs")


main()
