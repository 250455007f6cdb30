# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""TERM, INT and USR1 leave a table, with what the interrupted case has sampled; --resume goes on.

signals_test.py BINARY LAUNCHER...
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line, read_junit  # noqa: E402

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1]
INPUT = """
[run]
device = "host"
warmup = {{ count = 0, seconds = 0 }}
vendor = "off"
throttle = "1 MB/s"

[[case]]
name = "first"
workload = "transpose"
size = "(301,203)"
variant = "reference"
repetitions = 3

[[case]]
name = "second"
{}

[[case]]
name = "third"
workload = "transpose"
size = [8, 9, 10]
variant = "reference"
"""
SHORT = """workload = "transpose"
size = "(301,203)"
variant = "reference"
repetitions = 1000000000"""
# 3 s each by the model of a link, without work for the cores.
LONG = """workload = "sendrecv"
size = "375k"
variant = "transport"
repetitions = 1000"""


# Minutes each.
ENDLESS = LONG.replace("375k", "100M")
REFERENCE = 'workload = "gemm"\nsize = "4000"\nvariant = "reference"'


class Job(subprocess.Popen):
    """A run that has begun its second case; with ranks = 0 without a launcher."""

    def __init__(self, program, name, second, *arguments, ranks=0):
        self.directory = program.folder / name
        source = program.folder / f"{name}.toml"
        source.write_text(INPUT.format(second))
        command = program.command("run", source, "--set", f"run.output={program.folder}", *arguments, ranks=ranks)
        super().__init__(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.began = []
        for line in self.stderr:
            self.began.append(line)
            if line.startswith("[2/5] second"):
                return
        check(False, f"{command} ended too early:\n{self.began}\n{self.stdout.read()}")

    def end(self, number=None):
        if number is not None:
            self.send_signal(number)
        out, err = self.communicate(timeout=60)
        return subprocess.CompletedProcess(self.args, self.returncode, out, "".join(self.began) + err)


def check_table(process):
    """Both cases stand on the screen, the second with what it has sampled."""
    lines = process.stdout.splitlines()
    check(any(line.startswith("first ") for line in lines), "the first case has passed", process)
    second = [line for line in lines if line.startswith("second ")]
    check(second and "B/s" in second[0], "the second case must be there with its rate", process)
    check(any("second reference: stopped" in line or "second transport: stopped" in line for line in lines),
          "it was interrupted", process)
    check(last_line(process).startswith("RESULT FAIL executed=1 of=5"), "the last line counts what was planned", process)
    check(process.stdout.count("RESULT") == 1, "and stands once", process)
    check("the run ended before it" in process.stdout, "what did not run is told", process)


def cases_of(program, directory):
    shown = program.call("report", "--json", directory / "result.h5", ranks=0)
    return json.loads(shown.stdout)["cases"]


def in_short_repetitions(program):
    """A process without a launcher ends by itself, with 7."""
    for number in SIGNALS:
        junit = program.folder / f"{number.name}.xml"
        job = Job(program, number.name, SHORT, "--run-id", number.name, "--junit", junit)
        time.sleep(0.5)
        process = job.end(number)
        check(process.returncode == 7, f"{number.name}: expected 7", process)
        check_table(process)
        endings = read_junit(junit)
        lost = ("second", "third.1", "third.2", "third.3")
        check(endings == {"first:reference": "system-out", **{f"{case}:reference": "error" for case in lost}}, f"{endings}",
              process)
        case = cases_of(program, job.directory)[1]
        check(case["verdict"] == "INTERRUPTED" and case["samples"] > 0 and case["median_s"] > 0, str(case), process)


def goes_on(program):
    """The case that was interrupted runs again, no other."""
    job = Job(program, "SIGINT", SHORT, "--resume", "SIGINT")
    process = job.end(signal.SIGUSR1)
    check(len(job.began) == 1 and job.began[0].startswith("[2/5] second"), f"only the second case is left, not {job.began}", process)
    check(process.returncode == 7 and "resumed at" in process.stdout, "stopped once more", process)
    cases = [(case["id"], case["verdict"]) for case in cases_of(program, job.directory)]
    later = [(f"third.{i}:reference", "INTERRUPTED") for i in (1, 2, 3)]
    check(cases == [("first:reference", "PASS"), ("second:reference", "INTERRUPTED"), *later], str(cases), process)


def keeps_what_is_wrong(program):
    """No signal hides a wrong result, nor one that only the other repetitions tell from a right one."""
    job = Job(program, "wrong", SHORT, "--inject-fault", "once", "--run-id", "wrong")
    time.sleep(1)
    process = job.end(signal.SIGUSR1)
    check(process.returncode == 1, "a wrong result comes before an interruption", process)
    verdicts = [case["verdict"] for case in cases_of(program, job.directory)]
    check(verdicts == ["FAIL", "FAIL", *3 * ["INTERRUPTED"]], str(verdicts), process)
    check("interrupted by a signal" in process.stdout, "the run was interrupted", process)


def in_long_repetitions(program):
    """A launcher that is asked to stop waits for no repetition: the table comes before it ends."""
    jobs = {number: Job(program, f"{number.name}-2", LONG, "--run-id", f"{number.name}-2", ranks=2)
            for number in SIGNALS}
    # The first use, a repetition, and half of another are behind it.
    time.sleep(8)
    for number, job in jobs.items():
        job.send_signal(number)
    for number, job in jobs.items():
        process = job.end()
        check_table(process)
        check(number != signal.SIGUSR1 or process.returncode == 7, "this one is handed on", process)


def in_endless_ones(program):
    """What takes no notice ends at the second signal, or some seconds behind the table, with 7; once it is told."""
    twice = Job(program, "twice", REFERENCE, "--run-id", "twice")
    once = Job(program, "once", ENDLESS, "--run-id", "once", ranks=2)
    time.sleep(1)
    start = time.monotonic()
    once.send_signal(signal.SIGUSR1)
    twice.send_signal(signal.SIGINT)
    time.sleep(2)
    for job, number, seconds in ((twice, signal.SIGINT, 8), (once, None, 25)):
        process = job.end(number)
        took = time.monotonic() - start
        check(process.returncode == 7 and took < seconds, f"{job.args} ended after {took} s", process)
        check(last_line(process).startswith("RESULT FAIL executed=1 of=") and process.stdout.count("executed=") == 1,
              "one table", process)
        check(process.stderr.count("FATAL") == 1 and "a signal ends the job" in process.stderr, "and one reason", process)


def while_its_end_waits(program):
    """A table that comes before an interrupted run has ended gives no other reason."""
    trace = program.folder / "trace.json"
    job = Job(program, "waits", SHORT, "--run-id", "waits", "--trace", trace)
    # Nobody reads, so that the line about the trace is not written, nor the table behind it.
    full = os.open(f"/proc/self/fd/{job.stdout.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(full, size * b"\n")
        except BlockingIOError:
            pass
    os.close(full)
    job.send_signal(signal.SIGUSR1)
    while job.poll() is None and not trace.exists():
        time.sleep(0.1)
    time.sleep(1)
    process = job.end()
    check(process.returncode == 7 and process.stdout.count("RESULT") == 1, "expected 7 and one table", process)
    check("the run was interrupted" in process.stdout and "failed at its end" not in process.stdout, "one reason", process)


def main():
    program = Program(sys.argv[1:])
    in_short_repetitions(program)
    goes_on(program)
    keeps_what_is_wrong(program)
    in_long_repetitions(program)
    in_endless_ones(program)
    while_its_end_waits(program)
    print("signals leave a table and a run that can go on")


main()
