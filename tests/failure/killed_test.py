# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A program that is killed, or fails, in its second case has kept the first.

killed_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_junit  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 3
suspect = "none"  # else there are more where other programs run
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


def kill_in_second_case(program, source):
    # Without a launcher, which would tell the program before it ends it.
    junit = program.folder / "killed.xml"
    junit.write_text('<?xml version="1.0"?><testsuites/>')  # of an earlier run, which had passed
    process = program.start("run", source, "--run-id", "killed", "--junit", junit, ranks=0)
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("[2/2] second"):
            break
    process.kill()
    process.communicate()
    check(process.returncode == -9, f"it ended by itself with {process.returncode}:\n{''.join(lines)}")

    endings = read_junit(junit)
    check(endings == {"killed": "error"}, f"a run that was killed has not passed for a test either: {endings}")
    directory = program.folder / "killed"
    check(not (directory / "result.h5").exists(), "the result was written before the end")
    shown = program.call("report", "--json", directory, ranks=0)
    check(shown.returncode == 7, "what was finished must be readable", shown)
    cases = json.loads(shown.stdout)["cases"]
    check([(case["id"], case["verdict"], case["samples"]) for case in cases] == [("first:reference", "PASS", 3)],
          f"expected the first case with its samples, not {cases}", shown)
    shown = program.call("report", directory, ranks=0)
    check(shown.returncode == 7, "a killed run has not ended well", shown)
    check("this run has not ended" in shown.stdout and "run killed, started 20" in shown.stdout,
          "the report must say which run this was and that it did not end", shown)
    check(shown.stdout.splitlines()[-1].startswith("RESULT FAIL executed=1"), "the last line", shown)


def fail_in_second_case(program):
    """A repetition that does not end ends the job; the table of the first case stands before the end."""
    source = program.folder / "slow.toml"
    first, second = INPUT.split('name = "second"')
    source.write_text(first + 'name = "second"' + second.replace("vector", "gemm").replace("1007", "4Ki"))
    junit = program.folder / "failed.xml"
    ended = program.call("run", source, "--run-id", "failed", "--set", f"run.output={program.folder}", "--set",
                         "run.timeout.repetition=2s", "--set", "run.timeout.grace=1s", "--junit", junit, ranks=2)
    check(ended.returncode == 5 and "FATAL" in ended.stderr, "expected a time-out", ended)
    check("first" in ended.stdout and "RESULT FAIL executed=1" in ended.stdout, "the first case must be shown", ended)
    endings = read_junit(junit)
    # The rank that ends the job may know of the running case, or not.
    check(endings.pop("first:reference") == "system-out" and list(endings.values()) == ["error"],
          f"and be in JUnit's file: {endings}", ended)


def go_on_behind_a_slow_variant(program):
    """A repetition beyond its limit that does end takes its variant out, and nothing else."""
    source = program.folder / "slow_first.toml"
    source.write_text('[run]\ndevice = "host"\nvendor = "off"\ntimeout = { repetition = "1s", grace = "10min" }\n'
                      '[[case]]\nworkload = "gemm"\nsize = "1400"\nvariant = "reference"\n'
                      '[[case]]\nworkload = "vector"\nsize = "1007"\nvariant = "reference"\n')
    ended, result, _ = program.run(source, ranks=2)
    check(ended.returncode == 5 and "FATAL" not in ended.stderr, "expected a time-out that the job survives", ended)
    verdicts = [(case["id"], case["verdict"]) for case in result["cases"]]
    check(verdicts == [("gemm:reference", "TIMEOUT"), ("vector:reference", "PASS")], f"not {verdicts}", ended)


def damage(program):
    """Of a result that is damaged or a journal that is, the other is read, or one line says why not."""
    process, _, directory = program.run(program.folder / "input.toml", "--only", "first")
    check(process.returncode == 0, "the first case alone", process)
    whole = (directory / "result.h5").read_bytes()
    (directory / "result.h5").write_bytes(whole[: len(whole) // 2])
    shown = program.call("report", directory, ranks=0)
    check(shown.returncode == 0 and "read from the journal" in shown.stdout, "the journal is whole", shown)
    check("this run has not ended" not in shown.stdout, "it has ended", shown)
    (directory / "result.h5").unlink()
    (directory / "result.jsonl").write_text('{"schema": "quadrille-result"}\n{"id": 3}\n{}\n')
    shown = program.call("report", directory, ranks=0)
    check(shown.returncode == 2 and len(shown.stderr.splitlines()) == 1 and "json.exception" not in shown.stderr,
          "one line of our own words", shown)



def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT)
    kill_in_second_case(program, source)
    fail_in_second_case(program)
    go_on_behind_a_slow_variant(program)
    damage(program)
    print("what was finished is kept")


main()
