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
from quadrille import Program, check, read_journal  # noqa: E402

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
    return read_journal(directory)[0]


def run_lines(directory):
    lines = read_journal(directory)
    return [line for line in lines if "transport_times" in line]


def check_resumed(program, source, directory):
    """A killed run goes on by the transports that it had chosen, whatever is fastest now."""
    journal = directory / "result.jsonl"
    run = facts(directory)
    slower = {time["operation"]: ({"ipc", "mpi"} - {time["auto_takes"]}).pop()
              for time in run["transport_times"] if time["bytes"] == 8}
    kept = [{**time, "seconds": 1e-12 if time["transport"] == slower["allreduce"] else 1.0}
            for time in run["transport_times"] if time["operation"] == "allreduce"]
    (directory / "result.h5").unlink()

    journal.write_text(json.dumps({**run, "transport_times": kept}) + "\n")
    process = program.call("run", source, "--set", f"run.output={program.folder}", "--resume", directory.name, ranks=2)
    check(process.returncode == 0, "a killed run goes on", process)
    shown = program.call("report", "--json", directory, ranks=0)
    found = {case["id"].split(":")[0]: case["transport"] for case in json.loads(shown.stdout)["cases"]}
    check({found["sum.1"], found["sum.2"]} == {slower["allreduce"]}, f"{found}, but not by {slower} as before", process)
    *_, before, _ = run_lines(directory)
    check(before["transport_times"][:len(kept)] == kept, f"times of the journal were lost: {before}", process)
    others = {time["operation"] for time in before["transport_times"][len(kept):]}
    check(others == {"sendrecv"}, f"what the journal does not have is measured, not {others}", process)
    check("transports were measured" in " ".join(before["events"]), "... and said", process)

    # Nothing is missing now.
    (directory / "result.h5").unlink()
    journal.write_text(json.dumps({**before, "events": []}) + "\n")
    process = program.call("run", source, "--set", f"run.output={program.folder}", "--resume", directory.name, ranks=2)
    *_, again, _ = run_lines(directory)
    check(again["transport_times"] == before["transport_times"], "nothing is measured again", process)
    check("transports were measured" not in " ".join(again["events"]), f"{again['events']}", process)


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

    check_resumed(program, source, directory)
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
    source = program.input(INPUT)
    selectable = {"nccl": "UNSUPPORTED", "ipc": "PASS", "hybrid": "UNSUPPORTED", "mpi": "PASS",
                  "mpi_gpu": "UNSUPPORTED"}
    process, report, directory = program.run(source, ranks=2)
    check(process.returncode == 0, "what cannot serve fails no run", process)
    found = {case["id"]: (case["transport"], case["verdict"]) for case in report["cases"]}
    ring = {name: verdict for key, (name, verdict) in found.items() if key.startswith(f"ring.{name}:")}
    check(ring == selectable, f"cases are {found}", process)
    check(found["triad:host_simd"] == ("none", "PASS"), f"what exchanges nothing runs once: {found}", process)
    for name in ("nccl", "mpi_gpu"):
        reason = next(case["reason"] for case in report["cases"] if case["transport"] == name)
        check(reason == f'transport "{name}" moves GPU memory only', f"the reason is {reason}", process)
    check("  transport  " in process.stdout, "the table tells transports apart", process)
    # What it kept is not measured or listed again.
    again = program.call("run", source, "--set", f"run.output={program.folder}", "--resume", directory.name, ranks=2)
    check(again.returncode == 0 and "nothing is left" in again.stdout, "a finished run is finished", again)

    plan = program.call("run", source, "--dry-run", ranks=2)
    check(plan.returncode == 0 and "unsupported: transport" in plan.stdout, "--dry-run says so, too", plan)

    process, _, _ = program.run(source, "--only", "ring", "--set", "ring.transport=nccl", ranks=2)
    check(process.returncode == 2, "a transport that a case names must serve", process)
    process, report, _ = program.run(source, "--only", "ring", "--set", "ring.throttle=1 GB/s", ranks=2)
    check(process.returncode == 0 and len(report["cases"]) == len(selectable), "a modelled link", process)

    source.write_text(INPUT + '[[case]]\nname = "ring.mpi"\nworkload = "sendrecv"\ntransport = "mpi"\nsize = 1000\n')
    process, _, _ = program.run(source, ranks=2)
    check(process.returncode == 2 and "two cases are called 'ring.mpi'" in process.stderr, "names must differ", process)
    check_automatic(program, source)
    print("cases of all transports, and of the best")


main()
