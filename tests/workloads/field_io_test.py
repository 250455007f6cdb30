# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""What field_io reads from memory is called so.

field_io_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

MEMORY = "/dev/shm"


def main():
    if not os.path.ismount(MEMORY):
        print(f"{MEMORY} is no file system in memory")
        raise SystemExit(77)
    program = Program(sys.argv[1:])
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        program.folder = pathlib.Path(folder)
        process, report, _ = program.run(TESTS / "workloads" / "small.toml", "--only", "field_io", ranks=2)
        check(process.returncode == 0, "the run must pass", process)
        left = [entry for entry in os.listdir(folder) if entry.startswith("field_io")]
        check(not left, f"files are left: {left}")
    rates = [extra["name"] for extra in report["cases"][0]["extras"] if extra["name"].startswith("read, ")]
    check(len(rates) == 2 and all("page cache" in rate for rate in rates), f"it must say page cache: {rates}", process)
    check(report["cases"][0]["verdict"] == "PASS", "the verdict", process)
    print("reads from memory are called so")


main()
