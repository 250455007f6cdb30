# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Results on a disk that fails are no shorter results, and a library that never comes back holds nobody up.

bad_reads_test.py BAD_READS BINARY LAUNCHER...    BAD_READS: a library for LD_PRELOAD
"""
import os
import pathlib
import resource
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

CASES = ["--set", "run.repetitions=3", "--set", "run.vendor=off", "--set", "run.device=host", "--case", "vector", "--set",
         "size=[1007,2007,3007]", "--set", "variant=reference"]


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    check(False, what)


def keeps_a_journal_that_cannot_be_read(program, directory, bad):
    """Neither `report` nor `--resume` takes it for that of a run which has just begun."""
    journal = directory / "result.jsonl"
    (directory / "result.h5").unlink()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))  # as if it had not ended
    before = journal.read_bytes()
    for given in (0, len(lines[0]), len(lines[0]) + 100, len(before) - 10):
        environment = {**os.environ, **bad, "BAD_READS": "error", "BAD_READS_PATH": "result.jsonl",
                       "BAD_READS_BYTES": str(given)}
        for command in (["report", directory], ["report", journal],
                        ["run", *CASES, "--set", f"run.output={program.folder}", "--resume", directory.name]):
            process = program.call(*command, ranks=0, env=environment)
            check(process.returncode == 2, f"{command} after {given} bytes", process)
            check("Input/output error" in process.stderr, f"{command} says why", process)
            check(journal.read_bytes() == before, f"{command} after {given} bytes has changed the journal", process)
    process = program.call("run", *CASES, "--set", f"run.output={program.folder}", "--resume", directory.name, ranks=0)
    check(process.returncode == 0 and "behind 3 finished cases" in process.stdout, "readable again, it goes on", process)


def takes_no_other_run_for_the_latest(program, latest, bad):
    """Where the run that started last cannot be read, an earlier one is not in its place."""
    def refuse(name):
        environment = {**os.environ, **bad, "BAD_READS": "error", "BAD_READS_PATH": f"{latest.name}/{name}",
                       "BAD_READS_BYTES": "0"}
        for command in (["report", program.folder],
                        ["run", *CASES, "--set", f"run.output={program.folder}", "--resume", "latest"]):
            process = program.call(*command, ranks=0, env=environment)
            check(process.returncode == 2 and f"{latest.name}/{name}: Input/output error" in process.stderr, f"{command}",
                  process)

    refuse("result.jsonl")
    (latest / "result.jsonl").unlink()
    refuse("result.h5")


def ends_what_never_comes_back(program, result, bad):
    def read(how):
        return subprocess.Popen(program.command("report", result, ranks=0), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **bad, "BAD_READS": how})

    spins, sleeps, dies = read("spin"), read("sleep"), read("sleep")
    wait_for(lambda: children_of(dies.pid), "another process tries first")
    child = children_of(dies.pid)[0]
    dies.kill()
    dies.wait()
    wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists(), "it does not outlive the one that started it")
    for process in (spins, sleeps):
        out, err = process.communicate(timeout=100)
        check(process.returncode == 2 and not out and err.count("\n") == 1, f"{process.args}: {process.returncode} {err}")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    check(seconds < 15, f"{seconds} s of a core went into files that HDF5 does not survive")


def main():
    bad = {"LD_PRELOAD": sys.argv[1]}
    program = Program(sys.argv[2:])
    _, _, directory = program.run(*CASES)
    ends_what_never_comes_back(program, directory / "result.h5", bad)
    keeps_a_journal_that_cannot_be_read(program, directory, bad)
    takes_no_other_run_for_the_latest(program, program.run(*CASES)[2], bad)
    print("what cannot be read is reported in time")


main()
