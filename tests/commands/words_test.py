# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""`explain` knows each head, label and command that the program prints.

words_test.py BINARY LAUNCHER...
"""
import concurrent.futures
import os
import pathlib
import re
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
workload = "gemm"
size = 32
variant = ["reference", "host_simd", "kokkos"]

[[case]]
workload = "summa"
size = 64
variant = "host_simd"
legs = true

[[case]]
workload = "pairs"
size = 64
variant = "transport"
"""
# Tables have faint heads, and titles are bold.
FAINT = re.compile(r"\x1b\[2m(.*?)\x1b\[0m")


def heads(text):
    """Of all tables: lines of faint words alone."""
    found = set()
    for line in text.splitlines():
        words = FAINT.findall(line)
        if len(words) > 1 and not FAINT.sub("", line).strip():
            found |= set(words)
    return found


def words_of_screens(program):
    coloured = {**os.environ, "CLICOLOR_FORCE": "1", "COLUMNS": "240"}

    def shown(*arguments, ranks=0, codes=(0,)):
        process = program.call(*arguments, ranks=ranks, env=coloured)
        check(process.returncode in codes, f"{arguments}", process)
        return process.stdout

    runs = {}
    for ranks in (1, 2):
        process, _, runs[ranks] = program.run(program.input(INPUT), ranks=ranks)
        # One rank has nobody to send to, and the case names its variant.
        check(process.returncode == (3 if ranks == 1 else 0), f"{ranks} ranks", process)
    several = runs[2]
    details = shown("report", "--details", several)
    doctor = shown("doctor", ranks=2)
    compared = shown("compare", runs[1], several, codes=(0, 8, 9))  # of other numbers of ranks
    words = set()
    for text in (shown("report", several), details, doctor, shown("run", "--case", "gemm", "--set", "size=32", "--dry-run"),
                 shown("list", "variants", "gemm"), shown("list", "inputs"), shown("predict", "--ranks", "2:4:*2", several),
                 shown("report", "--scaling", runs[1], several), compared):
        words |= heads(text)
    count = len(words)
    # Facts of the build, what doctor looks at with its findings, the counts of the last line, and commands.
    words |= set(re.findall(r"^  ([a-z_]+) {2,}\S", details, re.MULTILINE))
    words |= {word for row in re.findall(r"^(ok|WARN) +(\w+) ", doctor, re.MULTILINE) for word in row}
    words |= set(re.findall(r"([A-Z]{4,}): ", compared))
    words |= {"RESULT", "reason", "wrong_libraries", *re.findall(r"(\w+)=", details.splitlines()[-1])}
    commands = set(re.findall(r"^  ([a-z]+) {2,}", shown("--help").split("Subcommands:")[1], re.MULTILINE))
    columns = re.findall(r"^\| (.*) \|$", shown("report", "--ladder", several), re.MULTILINE)[0]
    words |= commands | set(columns.split(" | "))
    check(count > 30 and len(commands) > 10 and len(words) > count + 35, f"too few words: {sorted(words)}")
    return {word for word in words if not word.isdigit()}  # ranks


def main():
    program = Program(sys.argv[1:])
    words = sorted(words_of_screens(program))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        unknown = [word for word, process in zip(words, pool.map(lambda word: program.call("explain", word, ranks=0), words))
                   if process.returncode]
    check(not unknown, f"explain does not know {unknown}")
    process = program.call("explain", "no such word", ranks=0)
    check(process.returncode == 2, "what is none is none", process)
    print(f"{len(words)} words are explained")


main()
