# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""On terminals of any width nothing is wider, nor has escapes that they do not know; --quiet says the result alone.

terminal_test.py BINARY LAUNCHER...
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line  # noqa: E402

SLOW = """
[run]
device = "host"
vendor = "off"
repetitions = 3
warmup = { count = 1, seconds = 0 }

[[case]]
name = "a_case_of_a_name_that_is_longer_than_most"
workload = "vector"
size = "64Ki"
variant = "all"

[[case]]
workload = "transpose"
size = ["(300,200)", "(301,203)"]
variant = "reference"
"""
# What compare, predict and report --scaling have tables and lines of, with long names.
JOINED = """
[run]
device = "host"
vendor = "off"
repetitions = 9
warmup = { count = 1, seconds = 0 }

[[case]]
name = "products_of_a_name_that_is_longer_than_most"
workload = "summa"
size = [128, 160]
panel = 16
variant = "host_simd"
transport = "mpi"
legs = true
batch = 1

[[case]]
workload = "allreduce"
variant = "transport"
transport = "mpi"
size = ["4Ki", "16Ki", "64Ki"]

[[case]]
workload = "vector"
size = "64Ki"
variant = "host_simd"
"""
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def on_terminal(program, columns, kind, *arguments):
    """What a terminal of so many columns gets: as a finished process."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(program.command(*arguments, ranks=0), stdin=slave, stdout=slave, stderr=slave,
                               env={**environment, "TERM": kind})
    os.close(slave)
    parts = []

    def read():
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:  # Linux says so at the end
            pass

    reader = threading.Thread(target=read)
    reader.start()
    code = process.wait(timeout=120)
    reader.join()
    os.close(master)
    text = b"".join(parts).decode().replace("\r\n", "\n")
    return types.SimpleNamespace(returncode=code, stdout=text, stderr="")


def shown_lines(text):
    """The lines that somebody sees, with those that are written over."""
    return [line for whole in text.split("\n") for line in ESCAPE.sub("", whole).split("\r")]


def runs(program):
    source = program.input(SLOW)
    for columns, kind in ((40, "xterm"), (60, "dumb"), (80, "xterm"), (120, "dumb"), (200, "xterm")):
        what = f"{kind} of {columns} columns"
        shown = on_terminal(program, columns, kind, "run", source, "--set", f"run.output={program.folder}")
        check(shown.returncode == 0, what, shown)
        # A path is one word, and tables are for 60 columns.
        text = shown.stdout if columns >= 60 else shown.stdout[:shown.stdout.index("The best of each case")]
        wide = [line for line in shown_lines(text) if len(line) > columns and "result.h5" not in line]
        check(not wide, f"{what} has wider lines: {wide}", shown)
        check(("\x1b" in shown.stdout) == (kind != "dumb"), f"{what}: escapes", shown)
        check(len(re.findall("^RESULT", shown.stdout, re.MULTILINE)) == 1, f"{what}: one result", shown)
        check("warm up" in shown.stdout or kind == "dumb", f"{what}: progress", shown)
        words = ["executed=", "passed=", "failed=0", "skipped=0", "unsupported="]
        check(all(word in shown.stdout for word in words), f"{what}: no word of the result is broken", shown)


def other_commands(program):
    for arguments in (["doctor"], ["explain", "median"], ["explain", "exit", "codes"], ["explain", "SUSPECT"], ["explain"],
                      ["list", "variants", "transpose"], ["--help"]):
        for columns in (60, 80, 100):
            shown = on_terminal(program, columns, "xterm", *arguments)
            check(shown.returncode == 0, f"{arguments}", shown)
            wide = [line for line in shown_lines(shown.stdout) if len(line) > columns]
            check(not wide, f"{arguments} in {columns} columns: {wide}", shown)
    codes = on_terminal(program, 80, "xterm", "explain", "exit", "codes").stdout.splitlines()
    check("0  all passed" in codes and "1  a result is wrong" in codes, f"a list stays one: {codes}")


def several_results(program):
    source = program.input(JOINED)
    runs = [program.run(source, "--quiet", *few, ranks=ranks)
            for ranks, *few in ((1,), (2,), (2,), (2, "--set", "run.repetitions=1"))]
    for process, _, _ in runs:
        check(process.returncode == 0, "a run to be compared", process)
    one, base, new, single = (directory for _, _, directory in runs)
    for arguments, words in ((["compare", "--details", base, new], ["ambiguous", "us", "->", "base"]),
                             (["compare", "--details", base, single], ["no interval", "nothing could be decided"]),
                             (["predict", "--ranks", "2:64:*2", base, one], ["efficiency", "checked against"]),
                             (["report", "--scaling", one, base], ["strong scaling", "efficiency", "bandwidth"])):
        for columns in (40, 60, 80):
            shown = on_terminal(program, columns, "xterm", *arguments)
            lines = shown_lines(shown.stdout)
            # An error stays one line, to be searched and copied.
            wide = [line for line in lines if len(line) > columns and not line.startswith("quadrille: ")]
            check(not wide, f"{arguments[0]} in {columns} columns: {wide}", shown)
            check(not [line for line in lines if line != line.rstrip()], f"{arguments[0]}: blanks at an end", shown)
            missing = [word for word in words if word not in shown.stdout]
            check(not missing, f"{arguments[0]} in {columns} columns lacks {missing}", shown)


def quiet(program):
    source = program.input(SLOW)
    for ranks in (1, 2):
        shown, report, directory = program.run(source, "--quiet", ranks=ranks)
        check(shown.returncode == 0 and report is not None, "--quiet", shown)
        check(len(shown.stdout.splitlines()) == 1 and last_line(shown).startswith("RESULT PASS executed="), "one line", shown)
        check(not shown.stderr, "and nothing else", shown)
        check("The best of each case" in (directory / "log.txt").read_text(), "log.txt has all")
    shown, _, _ = program.run(source, "--quiet", "--set", "vector.size=-1")
    check(shown.returncode == 2 and not shown.stdout and "quadrille: " in shown.stderr, "errors are told", shown)


def main():
    program = Program(sys.argv[1:])
    runs(program)
    other_commands(program)
    several_results(program)
    quiet(program)
    print("nothing is wider than its terminal")


main()
