# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""The READMEs of kernels name every technique, none that is not there, and every macro that kernels use; a
kernel of which two thirds are the previous rung's marks what it changes.

course_test.py BINARY LAUNCHER...
"""
import difflib
import fnmatch
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

# Of the build, the tests and one header alone: no reader of a kernel meets them.
INTERNAL = re.compile(r"QUAD_(SIMT|TSAN|PTX|OPERANDS|REGISTERS|WGMMA|ASM|MODEL|CUDA|CUBLAS|TOOLKIT|TABLE|FOR_EACH|SCAN|"
                      r"PARENTHESES|OVERFLOW|LAYOUT|SAME_WHERE|ONLY_WHERE)")


def unmarked(folder):
    """Rows whose kernels are much like those of the rungs before them, in files without a `// changed:`."""
    kernels, before, marked = {}, {}, set()
    for path in sorted(folder.rglob("*.cu")):
        text = path.read_text()
        rows = re.findall(r'(?:\.name = |\brow\()"(\w+)"', text)
        block = re.sub(r"\n/// +", " ", text[text.find("/// Before"):text.find("/// Shapes")])
        for first, row, rung in re.findall(r"/// Before +(\w+)|\b(\w+)(?: starts)? from (\w+)", block):
            before[row or rows[0]] = rung or first
        marked |= {row for row in rows if "// changed: " in text}
        for name, body in re.findall(rf"__global__[^{{]*?\b{folder.name}_(\w+)_kernel(\(.*?^}})$", text, re.S | re.M):
            kernels[name] = [line.split("//")[0].strip() for line in body.splitlines()]
    close = set()
    for row, rung in before.items():
        if row in kernels and rung in kernels:
            match = difflib.SequenceMatcher(None, kernels[rung], kernels[row], autojunk=False)
            if 3 * sum(block.size for block in match.get_matching_blocks()) >= 2 * len(kernels[row]):
                close.add(row)
    return sorted(close - marked), len(close)


def main():
    program = Program(sys.argv[1:])
    root = TESTS.parent
    # Tables of gains are made of results: they are not the course.
    text = "\n".join(re.sub("^<!-- gains.*?^<!-- end", "", path.read_text(), flags=re.M | re.S)
                     for path in sorted((root / "kernels").rglob("README.md")))
    named = set(re.findall(r"`([a-z0-9_*]+)`", text))
    rows = program.listed("variants")
    kernels = {row["name"] for row in rows
               if (root / "kernels" / row["workload"]).is_dir() and row["role"] in ("own", "demonstration")
               and row["workload"] not in ("pipeline", "api") and row["where"] == "cuda"}
    missing = {name for name in kernels if not any(fnmatch.fnmatch(name, pattern) for pattern in named)}
    check(len(kernels) > 80 and not missing, f"the course leaves out {sorted(missing)}")
    rungs = {name for line in text.splitlines() if re.match(r"\| `[a-z]", line) and "(" not in line.split("|")[1]
             for name in re.findall(r"`([a-z0-9_*]+)`", line.split("|")[1])}
    strange = {rung for rung in rungs if not fnmatch.filter({row["name"] for row in rows}, rung)}
    check(len(rungs) > 60 and not strange, f"the course names what is not there: {sorted(strange)}")

    used = {word for path in (root / "kernels").rglob("*.cu*") if not {"simt", "common"} & {*path.parts}
            for word in re.findall(r"\bQUAD_[A-Z_]*[A-Z]", path.read_text())}
    unknown = {word for word in used if not INTERNAL.match(word) and f"{word}" not in text}
    check(len(used) > 5 and not unknown, f"the course does not translate {sorted(unknown)}")
    silent = {room.name: unmarked(room) for room in (root / "kernels").iterdir() if room.is_dir()}
    check(silent["reduction"][1] > 3 and not any(rows for rows, _ in silent.values()),
          f"kernels do not mark what they change: {silent}")
    for name in re.findall(r"`?(?:inputs/)?([a-z-]+\.toml)", text):
        check((root / "inputs" / name).exists(), f"the course names {name}")
    print("the course has every technique")


main()
