# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up while any file is written: one line says which and why, the exit code is 4, what was finished is
shown, and nothing half written is left.

full_disk_test.py SHIM BINARY LAUNCHER...
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 2
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
name = "first"
workload = "vector"
size = "1007"
variant = "reference"

[[case]]
name = "second"
workload = "transpose"
size = "300"
variant = "reference"
save = true
"""
NO_SPACE = "No space left on device"


class Disk:
    """Runs the program on a disk that takes `room` bytes of the files whose path contains `name`."""

    def __init__(self, program, shim):
        self.program, self.shim = program, shim
        self.runs = 0

    def run(self, *arguments, name="", path="", room=0, ranks=0, reserves=1):
        self.runs += 1
        directory = self.program.folder / f"full{self.runs}"
        environment = dict(os.environ, LD_PRELOAD=self.shim, FULL_DISK_BYTES=str(room), FULL_DISK_RESERVES=str(reserves),
                           FULL_DISK_PATH=path or f"{directory.name}/{name or 'nothing'}",
                           ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
        command = ["run", "--set", f"run.output={self.program.folder}", *arguments, "--run-id", directory.name]
        return self.program.call(*command, ranks=ranks, env=environment), directory


def check_end(what, process, directory, file, shown):
    """`shown`: cases that must stand in the table."""
    said = [line for line in process.stderr.splitlines() if line.startswith(("FATAL", "quadrille:"))]
    check(process.returncode == 4, f"{what}: expected exit code 4", process)
    check(len(said) == 1 and file in said[0] and NO_SPACE in said[0], f"{what}: expected one line that names {file}",
          process)
    check("RESULT PASS" not in process.stdout, f"{what}: a run that lost something has not passed", process)
    check(not shown or process.stdout.count(" executed=") == 1, f"{what}: the table must be shown once", process)
    for name in shown:
        check(f"\n{name} " in process.stdout, f"{what}: '{name}' must be shown", process)
    grows = file in ("result.jsonl", "log.txt")
    left = [path for path in directory.rglob("*") if ".tmp" in path.name or (path.name == file and not grows)]
    check(not left, f"{what}: {left} are left", process)


def journal(disk, source):
    whole, directory = disk.run(source)
    check(whole.returncode == 0, "the disk has room", whole)
    lines = (directory / "result.jsonl").read_text().splitlines(keepends=True)
    room = len("".join(lines[:2]).encode()) + 10  # some of the second case's line

    process, directory = disk.run(source, name="result.jsonl", room=room)
    check_end("journal", process, directory, "result.jsonl", ["first"])
    text = (directory / "result.jsonl").read_text()
    check(text.endswith("\n") and all(json.loads(line) for line in text.splitlines()),
          "journal: a line is half written", process)
    return len(whole.stdout.split("\nRESULT ")[0].encode())


def small_files(disk, source, header_bytes):
    process, directory = disk.run(source, name="config.toml", room=100)
    check_end("configuration", process, directory, "config.toml", [])

    process, directory = disk.run(source, name="log.txt", room=header_bytes + 100)
    check_end("log", process, directory, "log.txt", ["first", "second"])
    check("RESULT" not in (directory / "log.txt").read_text() and "first" not in (directory / "log.txt").read_text(),
          "log: the table is half written", process)
    check((directory / "result.h5").exists(), "log: the result was written before", process)

    process, directory = disk.run(source, name="result.h5", room=5000)
    check_end("result", process, directory, "result.h5", ["first", "second"])
    shown = disk.program.call("report", directory, ranks=0)
    check(shown.returncode == 0, "result: the journal has it all", shown)


def fields(disk, source):
    size = 2 * 300 * 300 * 8
    for reserves in (1, 0):
        process, directory = disk.run(source, name="fields/", room=size // 2, ranks=2, reserves=reserves)
        check_end(f"fields, {reserves=}", process, directory, "second.h5", ["first"])
    for variant in ("hdf5", "reference"):
        output = disk.program.folder / variant
        process, _ = disk.run("--case", "field_io", "--set", "size=300", "--set", f"variant={variant}", "--set",
                              "vendor=off", "--set", f"run.output={output}", path=f"/{variant}/field_io-", room=size // 4)
        check_end(f"field_io, {variant}", process, output, "field_io-", [])
        left = [path for path in output.iterdir() if path.name.startswith("field_io-")]
        check(not left, f"field_io, {variant}: {left} are left", process)


def main():
    shim = sys.argv[1]
    program = Program(sys.argv[2:])
    source = program.input(INPUT)
    disk = Disk(program, shim)
    header_bytes = journal(disk, source)
    small_files(disk, source, header_bytes)
    fields(disk, source)
    print("a full disk is told, whatever is written")


main()
