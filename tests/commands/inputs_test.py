# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""What the headers of inputs/ say of memory and time, --dry-run says too, within a factor of two.

Figures "of GPU memory" and "on one H100" are compared where there is a GPU, all others where there is
none. "under" is a limit: at most four times what --dry-run says. On a host every input ends in 100 s.

inputs_test.py BINARY LAUNCHER...
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

MIB = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}
SECONDS = {"s": 1, "second": 1, "min": 60, "minute": 60, "h": 3600}
LONGEST = 100  # seconds that an input may take on 2 cores
WORDS = {"a": 1, "one": 1, "two": 2, "three": 3}


def field(text, name):
    """The text of a field of the header, which may go on in further lines."""
    found = re.search(rf"^# {name}: +(.*(?:\n#  +.*)*)", text, re.MULTILINE)
    return re.sub(r"\n#\s+", " ", found[1]) if found else ""


def is_true(said, planned, limit):
    return planned <= said <= 4 * planned if limit else planned / 2 <= said <= planned * 2


def claims(text, pattern, units):
    """(is a limit, amount, its part of the text, is of a GPU) of each amount; GPUs hold until hosts are named."""
    gpu = False
    for part in re.split(r"[,;] (?=[^,;]*\d|[^,;]* (?:minutes|seconds))", text):
        gpu = bool(re.search(r"H100|H200|GPU", part)) or gpu and not re.search(r"host|cores", part)
        found = re.search(pattern, part)
        if found:
            number = WORDS.get(found[1]) or float(found[1])
            yield "under " in part[:found.start()] + " ", number * units[found[2]], part, gpu


def planned_memory(shown):
    """The most that a case takes, in MiB, of the columns device and host."""
    head, *rows = shown.splitlines()[1:]
    most = {}
    for column in ("device", "host"):
        at = head.index(column)
        cells = [re.match(r"([\d.]+) ([KMG]iB)", row[at:]) for row in rows if row[:1].strip()]
        most[column] = max((float(cell[1]) * MIB[cell[2]] for cell in cells if cell), default=0)
    return most


def main():
    program = Program(sys.argv[1:])
    has_gpu = any(row["available"] for row in program.listed("variants") if row["where"] == "cuda")
    compared = 0
    for path in sorted((TESTS.parent / "inputs").glob("*.toml")):
        text = path.read_text()
        memory = [claim for claim in claims(field(text, "Memory"), r"([\d.]+) ([KMG]iB)", MIB)
                  if claim[3] == has_gpu]
        time = [claim for claim in claims(field(text, "Duration"), r"(\d+|two|three) (s|min|minute|second)s?\b", SECONDS)
                if claim[3] == has_gpu]
        check(time or has_gpu, f"{path.name} does not say how long it takes on a host")
        if not memory and not time:
            continue
        # GPUs of other kinds, and other numbers of them, take another time: memory alone is compared.
        process = program.call("run", path, "--dry-run", ranks=1 if has_gpu else 2)
        check(process.returncode == 0, f"{path.name} --dry-run", process)
        planned = planned_memory(process.stdout)["device" if has_gpu else "host"]
        # The largest of what several cases take.
        for limit, said, part, _ in sorted(memory, key=lambda claim: claim[1])[-1:]:
            check(is_true(said, planned, limit), f"{path.name} says '{part}', --dry-run {planned:.0f} MiB", process)
            compared += 1
        whole = re.search(r"; (?:under|about) ([\d.]+) (s|min|h) in all", process.stdout)
        seconds = float(whole[1]) * SECONDS[whole[2]]
        check(has_gpu or seconds <= LONGEST, f"{path.name} takes {seconds:.0f} s on a host; set size_host", process)
        for limit, said, part, _ in () if has_gpu else time:
            check(is_true(said, seconds, limit), f"{path.name} says '{part}', --dry-run {seconds:.0f} s", process)
            compared += 1
    check(compared >= 4, f"{compared} figures are compared")
    print(f"{compared} figures of headers are true")


main()
