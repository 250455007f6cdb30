# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A run's directory: whose it is, what may be replaced there, who must see it, and what is left where it goes away.

run_directory_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line  # noqa: E402

CASE = ["--case", "vector", "--set", "size=64", "--set", "variant=reference", "--set", "vendor=off", "--set",
        "run.device=host", "--set", "run.repetitions=2"]
ENDLESS = [*CASE, "--set", "run.repetitions=1000000000"]
# Long enough to do something to the directory meanwhile.
TWO_CASES = """
[run]
device = "host"
vendor = "off"
[[case]]
name = "first"
workload = "vector"
size = 64
variant = "reference"
[[case]]
name = "second"
workload = "vector"
size = 65
variant = "reference"
warmup = { count = 1, seconds = 3 }
"""


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(program):
    refused = ["-x", "--", ".hidden", "..", "a/b", "a b", "result.h5", "result.jsonl", "config.toml", "log.txt", "fields",
               "latest", "x\x1b[31m"]
    output = program.folder / "names"
    for name in refused:
        process = program.call("run", *CASE, "--set", f"run.output={output}", f"--run-id={name}", ranks=0)
        said = [line for line in process.stderr.splitlines() if line.startswith("quadrille:")]
        check(process.returncode == 2 and len(said) == 1 and "\x1b" not in said[0], f"--run-id={name!r}", process)
    check(not output.exists(), "a refused name leaves nothing")


def places(program):
    """Where no directory can be made, nothing runs, with 3; a link to one is one."""
    folder = program.folder / "places"
    folder.mkdir()
    (folder / "file").write_text("")
    os.mkfifo(folder / "pipe")
    (folder / "nowhere").symlink_to("absent")
    (folder / "directory").mkdir()
    (folder / "link").symlink_to("directory")
    for place, code in (("file", 3), ("pipe", 3), ("nowhere", 3), ("link", 0), ("new/below", 0)):
        process = program.call("run", *CASE, "--set", f"run.output={folder / place}", "--run-id", "run", ranks=0, timeout=60)
        check(process.returncode == code and (code == 0 or len(process.stderr.splitlines()) == 1), f"in {place}", process)
    for name in ("file", "pipe", "nowhere"):
        before = os.lstat(folder / name)
        process = program.call("run", *CASE, "--set", f"run.output={folder}", "--run-id", name, "--force", ranks=0, timeout=60)
        check(process.returncode == 3, f"--force on {name}", process)
        after = os.lstat(folder / name)
        check((before.st_mode, before.st_ino) == (after.st_mode, after.st_ino), f"{name} must stay", process)


def long_paths(program):
    """MPI opens files whose path is longer than buffers in it."""
    for length in (240, 300, 1000):
        output = program.folder / "x".join(["long/"] * (length // 6))
        process = program.call("run", "--case", "field_io", "--set", "size=64", "--set", "run.device=host", "--set",
                               f"run.output={output}", ranks=0, timeout=60)
        check(process.returncode == 0, f"a path of {length} characters", process)


def force(program):
    """Replaces the files of a run, all of them or none, and nothing else."""
    process, _, directory = program.run(*CASE)
    check(process.returncode == 0, "a first run", process)
    (directory / "fields" / "case.h5").write_text("an older field")
    (directory / "notes.txt").write_text("mine")
    (directory / "fields" / "notes.txt").write_text("mine")
    again = ["run", *CASE, "--set", f"run.output={program.folder}", "--run-id", directory.name, "--force"]
    process = program.call(*again, ranks=0)
    check(process.returncode == 0 and not (directory / "fields" / "case.h5").exists(), "--force", process)
    for kept in (directory / "notes.txt", directory / "fields" / "notes.txt"):
        check(kept.exists() and kept.read_text() == "mine", f"{kept} is nobody's to remove", process)
    resume = ["run", *CASE, "--set", f"run.output={program.folder}", "--resume", directory.name]
    for name in ("fields/case.h5", "result.jsonl"):
        folder = directory / name
        folder.unlink(missing_ok=True)
        folder.mkdir()
        (folder / "full").write_text("")
        (directory / ".lock").unlink(missing_ok=True)
        before = contents(directory)
        check(len(before) > 5, f"{list(before)}")
        for command in (again, resume) if name == "result.jsonl" else (again,):
            process = program.call(*command, ranks=0)
            (directory / ".lock").unlink(missing_ok=True)
            check(process.returncode in (2, 3) and "[1/1]" not in process.stderr, f"{name} cannot be removed or opened, which "
                  "is refused before anything runs", process)
            check(contents(directory) == before, f"{name} cannot be removed, so all stays: {list(contents(directory))}")


def another_run(program):
    """A directory that another process writes to is refused, with its host and number; a dead one's is not."""
    first = program.start("run", *ENDLESS, "--run-id", "shared", ranks=0)
    for line in first.stderr:
        if line.startswith("[1/1]"):
            break
    directory = program.folder / "shared"
    before = contents(directory)
    for words in (["--run-id", "shared", "--force"], ["--run-id", "shared"], ["--resume", "shared"]):
        process = program.call("run", *ENDLESS, "--set", f"run.output={program.folder}", *words, ranks=0, timeout=60)
        check(process.returncode in (2, 3) and contents(directory) == before, f"{words} beside another run", process)
        named = f"process {first.pid} on {os.uname().nodename}" in process.stderr
        check(named or words == ["--run-id", "shared"], f"{words}: it must say whose it is", process)
    check(first.poll() is None, "the first run goes on")
    first.kill()
    first.communicate()
    process = program.call("run", *CASE, "--set", f"run.output={program.folder}", "--run-id", "shared", "--force", ranks=0)
    check(process.returncode == 0, "a lock ends with its process", process)


def unshared(program):
    """Where ranks write to one file, each must see run.output; elsewhere rank 0 alone."""
    homes = [program.folder / "node0", program.folder / "node1"]
    for home in homes:
        home.mkdir()

    def on_two_nodes(*arguments):
        command = ["run", *arguments, "--set", "run.output=results", "--set", "run.device=host", "--run-id", "run"]
        words = program.launcher
        for home in homes:
            shutil.rmtree(home / "results", ignore_errors=True)
            words = [*words, *([":"] if home != homes[0] else []), "-n", "1", "-wdir", str(home), program.binary, *command]
        return subprocess.run(words, text=True, capture_output=True, timeout=100)

    field_io = ["--case", "field_io", "--set", "size=64"]
    saved = [*CASE, "--set", "save=true"]
    for arguments in (field_io, saved):
        process = on_two_nodes(*arguments)
        said = [line for line in process.stderr.splitlines() if line.startswith(("quadrille:", "FATAL"))]
        check(process.returncode == 3 and len(said) == 1 and "rank 1 on " in said[0], f"{arguments[1]}: refused", process)
        check(not list(homes[0].rglob("run")), f"{arguments[1]}: nothing is left", process)
    process = on_two_nodes(*CASE)
    check(process.returncode == 0, "nobody else needs the folder", process)


def lost(program):
    """The table is shown from memory, and the last line does not say PASS."""
    source = program.folder / "two.toml"
    source.write_text(TWO_CASES)
    for name, lose in (("renamed", lambda directory: directory.rename(program.folder / "elsewhere")),
                       ("removed", shutil.rmtree)):
        run = program.start("run", source, "--run-id", name, ranks=0)
        for line in run.stderr:
            if line.startswith("[2/2]"):
                break
        lose(program.folder / name)
        run.stdout, err = run.communicate(timeout=100)
        check(run.returncode == 4 and "result.h5" in err, f"{name}: expected exit code 4 and a reason:\n{err}")
        check("\nfirst " in run.stdout and "\nsecond " in run.stdout, f"{name}: the table must be shown:\n{run.stdout}")
        check("RESULT FAIL executed=2 of=2 passed=2" in last_line(run) and "RESULT PASS" not in run.stdout,
              f"{name}: the last line:\n{run.stdout}")


def without_terminal(program):
    """A run whose terminal goes away, where HUP is ignored, ends like others but for what it could not show."""
    source = program.folder / "two.toml"
    terminal, end = pty.openpty()
    command = program.command("run", source, "--set", f"run.output={program.folder}", "--run-id", "hangup", ranks=0)
    process = subprocess.Popen(command, stdout=end, stderr=end, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(end)
    seen = b""
    while b"2/2" not in seen:
        seen += os.read(terminal, 4096)
    os.close(terminal)
    check(process.wait(100) == 4, f"expected exit code 4, not {process.returncode}")
    shown = program.call("report", program.folder / "hangup" / "result.h5", ranks=0)
    check(shown.returncode == 0, "its result is whole", shown)


def main():
    program = Program(sys.argv[1:])
    names(program)
    places(program)
    long_paths(program)
    force(program)
    another_run(program)
    unshared(program)
    lost(program)
    without_terminal(program)
    print("a run's directory is its own, and what it loses is told")


main()
