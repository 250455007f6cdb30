# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Commands that only read work without a launcher; doctor proves its exchange; formats agree.

commands_test.py BINARY LAUNCHER...
"""
import csv
import io
import json
import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402


def main():
    program = Program(sys.argv[1:])

    for what in ("workloads", "variants", "transports", "metrics", "counters", "faults"):
        shown = program.call("list", what, ranks=0)
        rows = program.listed(what)
        check(shown.returncode == 0 and rows, f"list {what}", shown)
        for row in rows:
            check(row["name"] in shown.stdout and row["summary"], f"list {what}: {row}", shown)
        too_long = [line for line in shown.stdout.splitlines() if len(line) > 120]
        check(not too_long, f"list {what} prints lines of more than 120 characters: {too_long}")
    for metric in program.listed("metrics")[:3]:  # a whole sentence of what is explained, which breaks its lines
        meaning = " ".join(program.call("explain", metric["name"], ranks=0).stdout.split())
        check(re.search(re.escape(metric["summary"]) + r"(\.| *$)", meaning), f"list metrics: {metric} of {meaning}")
    for variant in program.listed("variants"):
        check(variant["available"] == (variant["reason"] is None), f"list variants --json: {variant}")
    planned = program.call("run", TESTS / "workloads" / "small.toml", "--dry-run", ranks=2)
    check(planned.returncode == 0 and max(map(len, planned.stdout.splitlines())) <= 120, "--dry-run", planned)
    for workload in {row["workload"] for row in program.listed("variants")}:
        shown = program.call("explain", workload, ranks=0)
        check(shown.returncode == 0 and workload in shown.stdout, f"explain {workload}", shown)
    check(program.call("explain", "hidden", ranks=0).returncode == 0, "explain hidden")

    process, report, directory = program.run(TESTS / "workloads" / "small.toml", "--only", "summa,vector", ranks=2)
    check(process.returncode == 0 and {case["workload"] for case in report["cases"]} == {"summa", "vector"},
          "--only keeps cases and workloads", process)
    for name in ("result.h5", "result.jsonl", "config.toml", "log.txt"):
        check((directory / name).exists(), f"{name} is missing", process)
    check(process.stdout.strip().splitlines()[-1].split()[0:2] == ["RESULT", "PASS"], "the last line", process)
    for source in (directory, directory / "result.jsonl"):
        again = json.loads(program.call("report", "--json", source, ranks=0).stdout)
        check([case["id"] for case in again["cases"]] == [case["id"] for case in report["cases"]], f"{source}")
    rows = list(csv.DictReader(io.StringIO(program.call("report", "--csv", directory, ranks=0).stdout)))
    check(len(rows) == len(report["cases"]), "csv has a row per case")
    markdown = program.call("report", "--markdown", directory, ranks=0)
    check(markdown.returncode == 0 and "|" in markdown.stdout, "markdown", markdown)
    rerun = program.run(directory / "config.toml", ranks=2)[1]
    check([c["id"] for c in rerun["cases"]] == [c["id"] for c in report["cases"]], "config.toml runs again")

    # What a run found besides is explained, whatever it is called; the points of a series alike.
    sizes = {"size": 20, "max_length": 64, "layers": 1, "heads": 2, "kv_heads": 2, "head_size": 64, "kv_memory": "1Mi",
             "max_running": 4, "budget": 32, "type": "f16", "variant": "paged", "model": "measured"}
    settings = [word for key, value in sizes.items() for word in ("--set", f"{key}={value}")]
    process, served, _ = program.run("--case", "serving", *settings)
    check(process.returncode == 0, "serving with measured times", process)
    found = {re.sub(r"\d+", "1", extra["name"]) for case in served["cases"] + report["cases"] for extra in case["extras"]}
    check(len(found) > 20, f"further rates: {found}")
    unknown = [name for name in found if program.call("explain", name, ranks=0).returncode != 0]
    check(not unknown, f"explain does not know {unknown}")

    # A signal keeps what was finished.
    process = program.start("run", TESTS / "workloads" / "small.toml", "--run-id", "stopped", "--set",
                            "run.repetitions=1000000", "--only", "vector,summa", ranks=2)
    check(any(line.startswith("[1/") for line in process.stderr), "it ended before its first case began")
    process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(timeout=60)
    check(process.returncode == 7, f"interrupted must end with 7, not {process.returncode}:\n{out}\n{err}")
    stopped = json.loads(program.call("report", "--json", program.folder / "stopped", ranks=0).stdout)
    check(any(case["verdict"] == "INTERRUPTED" for case in stopped["cases"]), "the interrupted case must be there")
    print("commands work as promised")


main()
