# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""transport = "all" makes a case for each transport; those that cannot serve are said and do not fail. "auto" is
one of those that serve, chosen by times that the result keeps.

plan_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
transport = "all"
repetitions = 2
warmup = { count = 1, seconds = 0 }
vendor = "off"
[[case]]
name = "ring"
workload = "sendrecv"
size = 1000
[[case]]
name = "triad"
workload = "vector"
size = 1000
"""


def facts(directory):
    return json.loads((directory / "result.jsonl").read_text().splitlines()[0])


def check_automatic(program, source):
    source.write_text(INPUT.replace('"all"', '"auto"') +
                      '[[case]]\nname = "sum"\nworkload = "allreduce"\nsize = [1, "1Mi"]\n')
    process, report, directory = program.run(source, ranks=2)
    check(process.returncode == 0, "auto", process)
    times = facts(directory)["transport_times"]
    operations = {time["operation"] for time in times}
    check(operations == {"sendrecv", "allreduce"}, f"what cases do is measured: {operations}", process)
    taken = {(time["operation"], time["bytes"]): time["auto_takes"] for time in times}
    found = {case["id"].split(":")[0]: case["transport"] for case in report["cases"]}
    check(found["triad"] == "none", f"what exchanges nothing has none: {found}", process)
    check(found["sum.1"] == taken["allreduce", 8], f"the fastest for 8 bytes: {found}, {taken}", process)
    check({found["ring"], found["sum.2"]} <= {"ipc", "mpi"}, f"{found}", process)

    again = program.call("rerun", directory, "--set", f"run.output={program.folder}", "--run-id", "again", ranks=2)
    check(again.returncode == 0 and not facts(program.folder / "again")["transport_times"],
          "a rerun takes what the run took", again)
    for key in ("transport=mpi", "throttle=1 GB/s"):
        process, report, directory = program.run(source, "--set", f"run.{key}", ranks=2)
        check(process.returncode == 0 and not facts(directory)["transport_times"], f"{key}: nothing is measured", process)
        check({case["transport"] for case in report["cases"]} == {"mpi", "none"}, f"{key}", process)
    process, report, directory = program.run(source, "--only", "sum", ranks=1)
    check(process.returncode == 0 and not facts(directory)["transport_times"], "one rank has no choice", process)


def main():
    program = Program(sys.argv[1:])
    source = program.folder / "input.toml"
    source.write_text(INPUT)
    selectable = {"nccl": "UNSUPPORTED", "ipc": "PASS", "hybrid": "UNSUPPORTED", "mpi": "PASS"}
    process, report, directory = program.run(source, ranks=2)
    check(process.returncode == 0, "what cannot serve fails no run", process)
    found = {case["id"]: (case["transport"], case["verdict"]) for case in report["cases"]}
    ring = {name: verdict for key, (name, verdict) in found.items() if key.startswith(f"ring.{name}:")}
    check(ring == selectable, f"cases are {found}", process)
    check(found["triad:host_simd"] == ("none", "PASS"), f"what exchanges nothing runs once: {found}", process)
    reason = next(case["reason"] for case in report["cases"] if case["transport"] == "nccl")
    check(reason == 'transport "nccl" moves GPU memory only', f"the reason is {reason}", process)
    check("  transport  " in process.stdout, "the table tells transports apart", process)
    # What it kept is not measured or listed again.
    again = program.call("run", source, "--set", f"run.output={program.folder}", "--resume", directory.name, ranks=2)
    check(again.returncode == 0 and "nothing is left" in again.stdout, "a finished run is finished", again)

    plan = program.call("run", source, "--dry-run", ranks=2)
    check(plan.returncode == 0 and "unsupported: transport" in plan.stdout, "--dry-run says so, too", plan)

    process, _, _ = program.run(source, "--only", "ring", "--set", "ring.transport=nccl", ranks=2)
    check(process.returncode == 2, "a transport that a case names must serve", process)
    process, report, _ = program.run(source, "--only", "ring", "--set", "ring.throttle=1 GB/s", ranks=2)
    check(process.returncode == 0 and len(report["cases"]) == 4, "a modelled link", process)

    source.write_text(INPUT + '[[case]]\nname = "ring.mpi"\nworkload = "sendrecv"\ntransport = "mpi"\nsize = 1000\n')
    process, _, _ = program.run(source, ranks=2)
    check(process.returncode == 2 and "two cases are called 'ring.mpi'" in process.stderr, "names must differ", process)
    check_automatic(program, source)
    print("cases of all transports, and of the best")


main()
