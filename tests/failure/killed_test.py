# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A program that is killed in its second case has kept the first.

killed_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 3
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
name = "first"
workload = "vector"
size = "1007"
variant = "reference"

[[case]]
name = "second"
workload = "vector"
size = "1007"
variant = "reference"
repetitions = 1000000000
"""


def main():
    program = Program(sys.argv[1:])
    source = program.folder / "input.toml"
    source.write_text(INPUT)
    # Without a launcher, which would tell the program before it ends it.
    process = subprocess.Popen([program.binary, "run", source, "--run-id", "killed", "--set",
                                f"run.output={program.folder}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("[2/2] second"):
            break
    process.kill()
    process.communicate()
    check(process.returncode == -9, f"it ended by itself with {process.returncode}:\n{''.join(lines)}")

    directory = program.folder / "killed"
    check(not (directory / "result.h5").exists(), "the result was written before the end")
    shown = program.call("report", "--json", directory, ranks=0)
    check(shown.returncode == 0, "what was finished must be readable", shown)
    cases = json.loads(shown.stdout)["cases"]
    check([(case["id"], case["verdict"], case["samples"]) for case in cases] == [("first:reference", "PASS", 3)],
          f"expected the first case with its samples, not {cases}", shown)
    print("a killed program keeps what it finished")


main()
