# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""rerun makes of a result the run that it came from, and says what differs now.

rerun_test.py BINARY LAUNCHER...
"""
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal, write_journal  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 2
warmup = { count = 1, seconds = 0 }
[[case]]
name = "sizes"
workload = "vector"
size = [1000, 3000]
seed = 7
variant = ["host_simd", "reference"]
[[case]]
name = "ring"
workload = "sendrecv"
transport = "all"
size = 1000
vendor = "off"
[[case]]
name = "share"
workload = "transpose"
size = "auto:0.001%"
variant = "best"
"""


def measured(report):
    """What was measured, without how fast."""
    keys = ("id", "workload", "type", "size", "variant", "transport", "ranks", "verdict")
    return [{key: case[key] for key in keys} for case in report["cases"]]


def changed(source, target, change):
    """A journal whose lines of the run say something else."""
    target.mkdir()
    lines = read_journal(source)
    for line in lines:
        if "build" in line:
            change(line)
    write_journal(target, lines)


def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT)
    process, report, first = program.run(source, ranks=2)
    check(process.returncode == 0, "the first run", process)
    head = read_journal(first)[0]
    facts = dict(head["build"])
    check(all(facts.get(name) for name in ("driver", "os", "cpu", "network")), f"the result names the machine: {facts}")
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    check(not model or facts["cpu"] == model[1].strip(), f"the CPU is {facts['cpu']}")

    # The journal alone is enough, and a killed run's cases that it did not reach run too.
    half = program.folder / "half"
    half.mkdir()
    lines = (first / "result.jsonl").read_text().splitlines(keepends=True)
    (half / "result.jsonl").write_text("".join(lines[:2]))
    for result in (first, first / "result.jsonl", half):
        process = program.call("rerun", result, "--run-id", f"again-{result.name}", ranks=2)
        check(process.returncode == 0 and f"rerun of {first.name}" in process.stdout, f"rerun {result}", process)
        again = json.loads(program.call("report", "--json", program.folder / f"again-{result.name}", ranks=0).stdout)
        check(measured(again) == measured(report), f"{measured(again)} of {measured(report)}", process)
    check("ranks and environment are as they were" in process.stdout, "nothing has changed", process)

    # One measurement, one case.
    for name, ids in (("sizes.2:reference", ["sizes.2:reference"]),
                      ("sizes.1", ["sizes.1:host_simd", "sizes.1:reference"]), ("ring.mpi", ["ring.mpi:transport"])):
        process = program.call("rerun", first, "--case", name, "--run-id", f"one-{name.replace(':', '-')}", ranks=2)
        check(process.returncode == 0, f"--case {name}", process)
        one = json.loads(
            program.call("report", "--json", program.folder / f"one-{name.replace(':', '-')}", ranks=0).stdout)
        check([case["id"] for case in one["cases"]] == ids, f"--case {name} runs {one['cases']}", process)
        check(f"rerun of {first}" in process.stdout, "the new result says so", process)
    config = program.call("rerun", first, "--case", "sizes.2", "--print-config", ranks=0).stdout
    check("size = 3000" in config and "seed = 7" in config and config.count("[[case]]") == 1, f"{config}")
    config = program.call("rerun", first, "--set", "sizes.1.seed=8", "--print-config", ranks=0).stdout
    check("seed = 8" in config and "auto:" not in config and config.count("[[case]]") == 4, f"{config}")

    # What differs now.
    process = program.call("rerun", first, "--dry-run", ranks=1)
    check("  ranks: 2 -> 1" in process.stdout and "start 2 ranks" in process.stdout, "ranks", process)
    process = program.call("rerun", first, "--dry-run", ranks=2, env={**os.environ, "OMP_SCHEDULE": "static"})
    check("  OMP_SCHEDULE: none -> static" in process.stdout, "environment", process)
    facts = ("commit", "driver", "os", "mpi")

    def change(head):
        head["build"] = [[name, "of another day" if name in facts else value] for name, value in head["build"]]
        head["ranks"][0]["device"] = "Another"

    other = program.folder / "other"
    changed(first, other, change)
    process = program.call("rerun", other, "--dry-run", ranks=2)
    for key in facts:
        check(f"  {key}: of another day -> " in process.stdout, key, process)
    check("  devices: Another, " in process.stdout, "device", process)

    for words, wanted in (((first, "--case", "sizes.2:referenze"), "did you mean 'sizes.2:reference'"),
                          ((program.folder / "none",), "none"), ((source,), "input.toml")):
        process = program.call("rerun", *words, ranks=0)
        check(process.returncode == 2 and wanted in process.stderr, f"rerun {words}", process)
    print("results run again")


main()
