# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Former names of keys and variants keep working, in an input and in the result of an earlier version.

former_names_test.py BINARY LAUNCHER...

former_names.toml and former_names.jsonl, its result on a host, are of the version before the names changed.
"""
import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check, read_journal  # noqa: E402

KEYS = {"timeout.patience": "timeout.grace", "deal": "partition", "most_running": "max_running"}
VARIANTS = {f"{mma}_async_{former}": f"{mma}_async_{present}" for mma in ("wmma", "mma") for former, present in (
    ("two_slots", "double_buffer"), ("two_slots_two_registers", "double_buffer_fragments"),
    ("stage2", "cross_tile_pipeline"))}
NOTES = [f"note: {kind} '{former}' is called '{present}' now"
         for kind, names in (("key", KEYS), ("variant", VARIANTS)) for former, present in names.items()]
FORMER = re.compile(r"\b(?:{})\b".format("|".join(map(re.escape, [*KEYS, *VARIANTS]))))
CODE = 3  # the variants are those of GPUs


def notes(process):
    check("note:" not in process.stdout, "notes are no part of the output", process)
    return sorted(line for line in process.stderr.splitlines() if line.startswith("note:"))


def former(text):
    """The former names in a text, or in JSON with configurations as texts."""
    return {*FORMER.findall(text.replace("\\n", "\n"))}


def check_present(text, what):
    check(not former(text), f"{what} has former names: {former(text)}")


def main():
    program = Program(sys.argv[1:])
    folder = program.folder
    source = TESTS / "commands" / "former_names.toml"
    check(former(source.read_text()) == {*KEYS, *VARIANTS}, "the input has every former name")

    def run(*arguments, code):
        process = program.call("run", *arguments, cwd=folder)
        check(process.returncode == code, f"run {arguments} must end with {code}", process)
        return process

    # The input, whose result knows nothing of them.
    process = run(source, "--run-id", "new", code=CODE)
    check(notes(process) == sorted(NOTES), f"each note once: {NOTES}", process)
    for name in ("result.jsonl", "config.toml", "log.txt"):
        check_present((folder / "results" / "new" / name).read_text(), name)
    new = read_journal(folder / "results" / "new")
    ids = [line["id"] for line in new if "id" in line]
    variants = {line["variant"] for line in new if "id" in line}
    check({*VARIANTS.values()} <= variants, f"{variants}")

    # --set, which wins over the file by either name.
    for key in ("deal", "partition"):
        process = run(source, "--print-config", "--set", f"ring.{key}=zigzag", code=0)
        check('\npartition = "zigzag"\n' in process.stdout, f"--set {key}", process)
        check_present(process.stdout, "the configuration")
    present = folder / "results" / "new" / "config.toml"
    check(not notes(run(present, "--print-config", code=0)), "no former name, no note")
    process = run(present, "--print-config", "--set", "ring.1.deal=[zigzag,striped]", "--set", "run.timeout.patience=9s",
                  code=0)
    check(notes(process) == sorted(NOTES[:2]), "the notes on --set", process)
    both = folder / "both.toml"
    both.write_text(source.read_text().replace("deal =", 'partition = "striped"\ndeal ='))
    process = run(both, code=2)
    line = next(i for i, text in enumerate(both.read_text().splitlines(), 1) if text.startswith("deal"))
    said = [text for text in process.stderr.splitlines() if text.startswith("quadrille:")]
    check(len(said) == 1 and f":{line}: key 'deal'" in said[0] and "both" in said[0], "both names of a key", process)

    # The result, as if it were of this build on these devices.
    facts = {name: new[0][name] for name in ("build", "ranks")}
    old = []
    for line in (TESTS / "commands" / "former_names.jsonl").read_text().splitlines():
        line = json.loads(line)
        if "build" in line:
            line.update(facts)
        elif "id" in line:
            line["device"] = facts["ranks"][0]["device"]
        old.append(json.dumps(line) + "\n")
    journal = folder / "old.jsonl"
    journal.write_text("".join(old))
    check(former(journal.read_text()) == {*KEYS, *VARIANTS}, "the result has every former name")

    for arguments in (["report"], ["report", "--json"], ["report", "--csv"]):
        process = program.call(*arguments, journal, ranks=0)
        check(process.returncode == 0 and not notes(process), f"{arguments} of an earlier result", process)
        check_present(process.stdout, f"{arguments} of an earlier result")
    process = program.call("compare", "--json", journal, folder / "results" / "new", ranks=0)
    check(process.returncode == 9 and not notes(process), "two samples decide nothing", process)
    compared = json.loads(process.stdout)
    pairs = [tuple(one["id"] for one in [*row["base"], row["new"]] if one) for row in compared["measurements"]]
    check(sorted(pairs) == sorted((one, one) for one in ids), f"compare must pair all: {pairs}", process)
    check(not compared["counts"]["REFUSED"], "compare refuses nothing", process)
    for one in [ids[0], *(f"ladder:{name}" for name in VARIANTS)]:
        process = program.call("rerun", journal, "--case", one, "--print-config")
        check(process.returncode == 0 and not notes(process), f"rerun --case {one}", process)
        check_present(process.stdout, f"rerun --case {one}")

    # Killed behind its first case, it goes on.
    killed = folder / "results" / "old"
    killed.mkdir()
    (killed / "result.jsonl").write_text("".join(old[:3]))
    shutil.copy(present, killed / "config.toml")
    process = run(source, "--resume", "old", code=CODE)
    check("behind 1 finished cases" in process.stdout, "the first case is kept", process)
    shown = json.loads(program.call("report", "--json", killed / "result.h5", ranks=0).stdout)
    check([case["id"] for case in shown["cases"]] == ids, "all are there, once", process)
    check_present(json.dumps(shown), "the result that went on")


main()
