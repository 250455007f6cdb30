# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Every rank's messages to every other are timed, checked, kept and shown.

pairs_test.py RANKS BINARY LAUNCHER...
"""
import csv
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal  # noqa: E402

SETTINGS = ['suspect="none"', "size=100Ki", "run.device=host", "run.repetitions=3", "run.warmup={count=1,seconds=0}", "run.vendor=off",
            "run.chunk_bytes=64Ki", "round_trips=5"]


def settings(*more):
    return [word for value in [*SETTINGS, *more] for word in ("--set", value)]


def judge(case, ranks, process):
    check(case["verdict"] == "PASS", f"{case['id']}: {case['verdict']}: {case['reason']}", process)
    pairs = case["pairs"]
    wanted = [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    check([(pair["from"], pair["to"]) for pair in pairs] == wanted, f"pairs are {pairs}", process)
    check(all(pair["link"] == "memory" for pair in pairs), f"hosts share the memory of a node: {pairs}")
    check(all(0 < pair["latency_s"] < 0.1 and pair["rate"] > 1e6 for pair in pairs), f"numbers are {pairs}")
    # The whole is timed by the large messages of all rounds: at least as long as one pair's alone.
    one = 100 * 1024 * 8 / min(pair["rate"] for pair in pairs)
    check(case["median_s"] > 0.5 * one, f"{case['median_s']} s for all, {one} s for the slowest pair")


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    process, report, directory = program.run(
        "--case", "pairs", *settings('ways=["one","both"]', 'at_once=["one","disjoint"]'), ranks=ranks)
    check(process.returncode == 0, "the run must pass", process)
    check(len(report["cases"]) == 4, f"{len(report['cases'])} cases", process)
    for case in report["cases"]:
        judge(case, ranks, process)
    for title in ("links between ranks", "latency of 8 bytes in us", "rate in GB/s"):
        check(title in process.stdout, f"there is no table '{title}'", process)

    journal = read_journal(directory)
    kept = next(line for line in journal if line.get("id") == report["cases"][0]["id"])["pairs"]
    shown = report["cases"][0]["pairs"]
    check([sorted(pair["latency_s"])[1] for pair in kept] == [pair["latency_s"] for pair in shown],
          "the median of the journal's samples is what the report of result.h5 says")
    table = program.call("report", "--csv", directory / "result.h5", ranks=0).stdout
    rows = [row for row in csv.DictReader(io.StringIO(table)) if row["pair_from"] and row["id"] == report["cases"][0]["id"]]
    check([float(row["pair_rate"]) for row in rows] == [pair["rate"] for pair in shown], "the rates of CSV", process)

    for fault in ("drop_message", "wrong_rank"):
        process, report, _ = program.run("--case", "pairs", *settings('ways=["one","both"]'), "--inject-fault", fault,
                                         ranks=2)
        check(process.returncode == 1, f"{fault}: the run must fail", process)
        for case in report["cases"]:
            check(case["verdict"] == "FAIL" and " on rank " in case["reason"], f"{fault}: {case['reason']}", process)
            check(all(pair["rate"] is None for pair in case["pairs"]), "a wrong result has no speed", process)

    process, report, _ = program.run("--case", "pairs", *settings(), ranks=0)
    check(report["cases"][0]["reason"] == "needs 2 ranks: mpirun -n 2", "one rank has no pair", process)
    process, report, _ = program.run("--case", "pairs", *settings("clock=sustained"), ranks=0)
    check("needs a reset" in report["cases"][0]["reason"], "places must be empty before each repetition", process)
    for setting, words in (("size=0", "pairs takes 1 to"), ("ways=two", "is not one of one, both")):
        process, report, _ = program.run("--case", "pairs", *settings(setting), ranks=0)
        check(process.returncode == 2 and report is None, f"{setting}: exit {process.returncode}", process)
        check(words in process.stderr, f"{setting}: the message", process)
    print(f"{len(shown)} pairs at {ranks} ranks")


main()
