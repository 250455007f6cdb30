# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A terminal shows what somebody wrote, in arguments, inputs and results, and obeys none of it.

hostile_text_test.py BINARY LAUNCHER...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal, write_journal  # noqa: E402

# Clears a screen, twice, and turns what follows round.
OBEYED = ("\x1b", "\u009b", "\u202e")
HOSTILE = "x\x1b[2J\u009b2J\u202ez"
INPUT = """
[run]
device = "host"
repetitions = 3
vendor = "off"

[[case]]
name = "NAME"
workload = "vector"
size = 1007
variant = "all"
"""


def check_shown(process, codes):
    """It ends as expected, and says what was written without doing it."""
    text = process.stdout + process.stderr
    check(process.returncode in codes, f"{process.args} must end with one of {codes}", process)
    check(not any(character in text for character in OBEYED), f"{process.args} is obeyed: {text!r}")
    return text


def arguments(program, source, directory):
    run = ["run", source, "--set", f"run.output={program.folder}"]
    slurm = ["slurm", "--ranks-per-node", "2"]
    silent = []
    for command in (
            ["run", HOSTILE], ["run", "--case", HOSTILE], [*run, "--run-id", HOSTILE], [*run, "--resume", HOSTILE],
            [*run, "--only", HOSTILE], [*run, "--set", HOSTILE], [*run, "--set", f"run.seed={HOSTILE}"],
            [*run, "--set", f"{HOSTILE}.size=3"], [*run, "--set", f"vector.variant={HOSTILE}"],
            [*run, "--set", f"run.output=/dev/null/{HOSTILE}"], [*run, "--set", f"run.device={HOSTILE}"],
            [*run, "--inject-fault", HOSTILE], [*run, "--trace", f"/dev/null/{HOSTILE}/x"],
            [*run, "--device-map", HOSTILE], [*run, "--fake-nodes", HOSTILE], [*run, "--duration", HOSTILE],
            ["run", "--case", "serving", "--set", "size=9", "--set", "kv_memory=64Gi", "--set", f"trace={HOSTILE}"],
            ["rerun", HOSTILE], ["rerun", directory, "--case", HOSTILE], ["doctor", "--device-map", HOSTILE],
            ["selftest", "--only", HOSTILE], ["tune", HOSTILE], ["tune", "gemm", "--output", f"/dev/null/{HOSTILE}/x"],
            ["list", HOSTILE], ["explain", HOSTILE], ["report", HOSTILE], ["report", directory, "--html", HOSTILE + "/x"],
            ["predict", "--ranks", HOSTILE, directory], ["predict", "--ranks", "2", HOSTILE],
            ["predict", "--ranks", "2", "--between-nodes", HOSTILE, directory],
            ["compare", directory, HOSTILE], ["compare", directory, directory, "--margin", HOSTILE],
            ["compare", directory, directory, "--junit", HOSTILE + "/x"],
            [*slurm, "--time", HOSTILE], [*slurm, "--partition", HOSTILE], [*slurm, "--account", HOSTILE],
            [*slurm, "--container-runtime", HOSTILE], ["completion", HOSTILE], [HOSTILE], ["run", "--" + HOSTILE]):
        text = check_shown(program.call(*command, ranks=0), (2, 3))
        silent += [] if "\\x1b[2J" in text else [command]
    # Without a driver nobody looks at a map of GPUs.
    check(all("--device-map" in command for command in silent), f"{silent} do not show what is wrong")


def inputs(program, source):
    """Texts of TOML may hold any character."""
    text = INPUT.replace("NAME", "plain")
    for line in text.splitlines():
        key, _, value = line.partition(" = ")
        if value:
            source.write_text(text.replace(line, key + ' = "x\\u001b[2J\\u009b2J\\u202ez"'))
            check_shown(program.call("run", source, ranks=0), (2,))


def results(program, directory):
    def hostile(value, key=""):
        if isinstance(value, dict):
            return {name: hostile(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [hostile(member, key) for member in value]
        fixed = ("schema", "config", "verdict", "measures", "workload", "status", "started", "finished_case", "role",
                 "variant")
        return value + HOSTILE if isinstance(value, str) and key not in fixed else value

    copies = [program.folder / name for name in ("hostile", "other")]
    for copy in copies:
        copy.mkdir()
        lines = read_journal(directory)
        lines = [hostile(line) for line in lines]
        for line in lines:
            if "run_id" in line:
                line["run_id"] += copy.name
        write_journal(copy, lines)
    for command in (["report"], ["report", "--details"], ["report", "--markdown"], ["report", "--csv"],
                    ["report", "--ladder"], ["compare", "--details"], ["rerun", "--dry-run"],
                    ["predict", "--ranks", "2"]):
        files = copies if command[0] == "compare" else copies[:1]
        text = check_shown(program.call(*command, *files, ranks=0), (0, 2, 8, 9))
        check("\\x1b[2J" in text or command[0] in ("predict", "rerun"), f"{command} shows none of it: {text!r}")


def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT.replace("NAME", "plain"))
    process, _, directory = program.run(source)
    check(process.returncode == 0, "a plain run", process)
    arguments(program, source, directory)
    results(program, directory)
    inputs(program, source)
    print("nothing that was written is obeyed")


main()
