# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A job that is killed at any moment, and again while it goes on, ends as one that was never killed.

resume_test.py MOMENTS BINARY LAUNCHER...
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line  # noqa: E402

RANKS = 2
# Several records a case, a sweep, and fields: whatever a kill may leave half done.
INPUT = """
[run]
device = "host"
repetitions = 3
suspect = "none"
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
name = "transposes"
workload = "transpose"
size = ["(301,203)", "(303,205)", "(305,207)"]
variant = ["reference", "host_simd"]

[[case]]
name = "saved"
workload = "summa"
size = "97"
panel = 32
variant = ["reference", "host_simd"]
save = true

[[case]]
name = "sums"
workload = "reduction"
size = ["40007", "50007", "60007"]
reproducible = true

[[case]]
name = "exchanged"
workload = "ptrans"
size = "(211,133)"
panel = 64
variant = ["reference", "host_simd"]

[[case]]
name = "copies"
workload = "copy"
size = ["10007", "20007", "30007"]
"""


class Job(subprocess.Popen):
    """A run under the launcher that can be killed as a whole."""

    def __init__(self, program, *arguments):
        self.command = program.command("run", program.source, "--set", f"run.output={program.folder}", *arguments,
                                       ranks=RANKS)
        super().__init__(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def processes(self):
        """The launcher and what it started."""
        parents = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.parent.name)] = int(fields[1])
        found = [self.pid]
        for pid in found:
            found.extend(child for child, parent in parents.items() if parent == pid)
        return found

    def end(self, timeout=120):
        out, err = self.communicate(timeout=timeout)
        return subprocess.CompletedProcess(self.args, self.returncode, out, err)

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.end()


def lines_of(directory):
    """The journal, line by line; a killed run may have left the last one incomplete."""
    journal = directory / "result.jsonl"
    lines = journal.read_text().split("\n") if journal.exists() else [""]
    return lines[:-1]


def finished_of(directory):
    """By case that is finished, the lines of its records."""
    records, finished = {}, {}
    for line in lines_of(directory):
        entry = json.loads(line)
        if "finished_case" in entry:
            name = entry["finished_case"]
            check(name not in finished, f"{name} finished twice in {directory}")
            finished[name] = records[name]
        elif "id" in entry:
            records.setdefault(entry["name"], []).append(line)
    return finished


def kill_at(job, seconds):
    """Kills a run after so many seconds, unless it ended before; whether it was killed."""
    try:
        ended = job.end(timeout=seconds)
    except subprocess.TimeoutExpired:
        job.kill_all()
        return True
    check(ended.returncode == 0, "an end before the kill", ended)
    return False


def check_end(program, process, directory, expected):
    """The result and the journal are those of a run that was never killed."""
    check(process.returncode == 0 and last_line(process).startswith("RESULT PASS"), directory.name, process)
    shown = program.call("report", "--json", directory / "result.h5", ranks=0)
    report = json.loads(shown.stdout)
    digests = [(case["id"], case["verdict"], case["samples"], case["digest"]) for case in report["cases"]]
    check(digests == expected, f"{directory.name}: expected {expected}, not {digests}", process)
    ids = [json.loads(line)["id"] for line in lines_of(directory) if '"id"' in line]
    check(ids == [case[0] for case in expected], f"{directory.name}: the journal has {ids}")
    check((directory / "fields" / "saved.h5").exists(), f"{directory.name}: the fields are missing")
    left = [path.name for path in directory.rglob("*") if ".tmp" in path.name]
    check(not left, f"{directory.name}: {left} are left over")


def check_moment(program, dice, name, span, expected):
    directory = program.folder / name
    kills = 0
    finished = {}
    while True:
        can_go_on = bool(lines_of(directory))
        job = Job(program, *(["--resume", name] if can_go_on else ["--run-id", name, "--force"]))
        # Once at any moment of a run, then now and then while it goes on.
        is_last = kills > 0 and (kills == 4 or dice.random() < 0.5)
        if is_last:
            process = job.end()
        else:
            kills += kill_at(job, dice.uniform(0, span))
        now = finished_of(directory)
        for case, lines in finished.items():
            check(now.get(case) == lines, f"{name}: case {case} was finished and is lost, or ran again")
        finished = now
        if is_last:
            break
    check_end(program, process, directory, expected)
    return kills


def snapshot(directory):
    # Who asks takes the lock, and leaves it.
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def cut_within_a_case(directory):
    """As if it had been killed while it wrote the second record of the case that saves its fields."""
    lines = lines_of(directory)
    begun = next(i for i, line in enumerate(lines) if json.loads(line).get("name") == "saved")
    (directory / "result.jsonl").write_text("\n".join(lines[: begun + 1]) + "\n" + lines[begun + 1][:-9])
    (directory / "result.h5").rename(directory / "result.h5.tmp.1")
    check((directory / "fields" / "saved.h5").exists(), "the case that was killed has written no fields")
    return lines[: begun + 1]


def check_refusals(program, name, lines):
    """What does not match ends with 2, names field and both values, and changes nothing."""
    directory = program.folder / name
    journal = directory / "result.jsonl"
    before = snapshot(directory)

    def refused(words, *arguments, ranks=RANKS, resume=name):
        job = program.call("run", program.source, "--set", f"run.output={program.folder}", "--resume", resume,
                           *arguments, ranks=ranks)
        said = [line for line in job.stderr.splitlines() if line.startswith("quadrille: --resume")]
        check(job.returncode == 2 and len(said) == 1, f"{arguments}: expected one message and exit code 2", job)
        check(all(word in said[0] for word in words), f"{arguments}: expected {words}", job)
        check(snapshot(directory) == before, f"{arguments}: a refusal has changed something", job)

    refused(["number of ranks", "'2'", "'3'"], ranks=3)
    refused(["seed = 1", "seed = 7", "sums.1"], "--set", "sums.seed=7")
    refused(["saved", "sums.1"], "--only", "transposes,sums")
    refused(["--resume '../evil'", "letters"], resume="../evil")
    refused(["cannot be opened", "none"], resume="none")
    head = json.loads(lines[0])
    for part, wrong in (("build", ["commit", "other"]), ("device", "another device"), ("threads", 999),
                        ("local_rank", 7)):
        if part == "build":
            changed = {**head, part: [wrong if fact[0] == wrong[0] else fact for fact in head[part]]}
        else:
            changed = {**head, "ranks": [*head["ranks"][:-1], {**head["ranks"][-1], part: wrong}]}
        whole = journal.read_text()
        journal.write_text("\n".join([json.dumps(changed), *lines[1:]]) + "\n")
        before = snapshot(directory)
        refused([wrong[0], "'other'"] if part == "build" else [part.replace("_", " "), "of rank 1", f"'{wrong}'"])
        journal.write_text(whole)
        before = snapshot(directory)
    job = program.call("run", program.source, "--resume", name, "--force", ranks=1)
    check(job.returncode == 2, "--resume excludes --force", job)


def check_the_rest(program, name, expected):
    """The latest run goes on, once; a finished one says so."""
    directory = program.folder / name
    arguments = ["run", program.source, "--set", f"run.output={program.folder}", "--resume", "latest"]
    # The one that started last, whichever directory was touched last.
    journal = directory / "result.jsonl"
    head, *rest = lines_of(directory)
    head = {**json.loads(head), "started": "9"}
    # And ran elsewhere, which the result says of the cases that ran before.
    head["ranks"][-1].update(node="elsewhere", cpu_mask="77", uuid="GPU-of-before", pci="0000:77:00.0")
    head["environment"].append(["OMP_WAIT_POLICY", "then"])
    journal.write_text("\n".join([json.dumps(head), *rest]) + "\n")
    os.utime(program.folder / "moment0")
    behind = f"behind {len(finished_of(directory))} finished cases"
    job = program.call(*arguments, ranks=RANKS)
    check("resumed at" in job.stdout, "the latest run must go on", job)
    events = [json.loads(line)["events"] for line in lines_of(directory) if '"events"' in line][-1]
    check(events[0].startswith("resumed at 2") and events[0].endswith(behind), f"events are {events}", job)
    check([event.split(" was ")[0].split()[-1] for event in events[1:]] == ["nodes", "cpus", "uuids", "pci", "OMP_WAIT_POLICY"],
          f"what differs now: {events}", job)
    check_end(program, job, directory, expected)
    before = {path: content for path, content in snapshot(directory).items() if path.name != "log.txt"}
    job = program.call(*arguments, ranks=RANKS)
    check(job.returncode == 0 and "nothing is left to measure" in job.stdout, "a finished run must say so", job)
    check(last_line(job).startswith(f"RESULT PASS executed={len(expected)} "), "it ends with its table", job)
    after = {path: content for path, content in snapshot(directory).items() if path.name != "log.txt"}
    check(before == after, "a finished run has changed", job)
    # As if it had been killed while it wrote its result.
    (directory / "result.h5").rename(directory / "result.h5.tmp.1")
    check_end(program, program.call(*arguments, ranks=RANKS), directory, expected)


def check_running(program):
    """Nobody goes on with a run that still runs."""
    job = Job(program, "--run-id", "running", "--set", "run.repetitions=1000000000")
    try:
        while not lines_of(program.folder / "running"):
            time.sleep(0.05)
        second = program.call("run", program.source, "--set", f"run.output={program.folder}", "--set",
                              "run.repetitions=1000000000", "--resume", "running", ranks=RANKS, timeout=60)
    finally:
        job.kill_all()
    check(second.returncode == 2 and "another run writes" in second.stderr, "this run has not ended", second)


def main():
    moments = int(sys.argv[1])
    program = Program(sys.argv[2:])
    program.source = program.input(INPUT)
    start = time.monotonic()
    process, report, directory = program.run(program.source, ranks=RANKS)
    span = time.monotonic() - start
    check(process.returncode == 0, "an uninterrupted run", process)
    expected = [(case["id"], case["verdict"], case["samples"], case["digest"]) for case in report["cases"]]
    check(len({digest for *_, digest in expected}) > 8, f"too few digests tell one run from another: {expected}")

    seed = int(os.environ.get("QUADRILLE_TEST_SEED", "1"))
    dice = random.Random(seed)
    kills = sum(check_moment(program, dice, f"moment{i}", span, expected) for i in range(moments))
    check_refusals(program, directory.name, cut_within_a_case(directory))
    check_the_rest(program, directory.name, expected)
    check_running(program)
    print(f"seed {seed}: {moments} runs of {span:.1f} s were killed {kills} times; each ended as one that was not")


main()
