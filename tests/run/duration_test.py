# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A burn-in repeats its cases, finds what is wrong in a later round, and ends with a table.

duration_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

SMALL = TESTS / "workloads" / "small.toml"


def main():
    program = Program(sys.argv[1:])
    process, report, directory = program.run(SMALL, "--only", "summa,vector", "--duration", "3s", ranks=2)
    check(process.returncode == 0 and "rounds" in process.stdout, "the rounds must be shown", process)
    check(all(case["rounds"] > 1 and case["verdict"] == "PASS" for case in report["cases"]), "several rounds", process)
    lines = len((directory / "result.jsonl").read_text().splitlines())
    rounds = max(case["rounds"] for case in report["cases"])
    check(lines <= 3 + len(report["cases"]) * (2 + rounds.bit_length()), f"{lines} lines for {rounds} rounds")
    journal = json.loads(program.call("report", "--json", directory / "result.jsonl", ranks=0).stdout)
    check([case["rounds"] for case in journal["cases"]] == [case["rounds"] for case in report["cases"]], "the journal")

    process, report, _ = program.run(SMALL, "--only", "gemm,ptrans", "--duration", "1s", "--set", "run.repetitions=2",
                                     "--inject-fault", "once", ranks=2)
    check(process.returncode == 1, "one wrong repetition in a later round", process)
    for case in report["cases"]:
        check(case["verdict"] == "FAIL" and case["reason"].startswith("round 2: "), f"{case}", process)

    process = program.start("run", SMALL, "--only", "vector", "--duration", "1h", "--run-id", "stopped", ranks=2)
    journal = program.folder / "stopped" / "result.jsonl"
    # What the run is, and in each of the first two rounds a line for each of two cases.
    while not journal.exists() or len(journal.read_text().splitlines()) < 5:
        check(process.poll() is None, "it ended by itself")
        time.sleep(0.1)
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 7 and "rounds" in out, f"interrupted: {process.returncode}\n{out}\n{err}")
    print(f"{rounds} rounds")


main()
