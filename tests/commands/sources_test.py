# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each item of a document is shown by cases of an input that are there, with the variant that it names, or by
a command that there is.

sources_test.py BINARY LAUNCHER...
"""
import pathlib
import shlex
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

HOME = TESTS.parent
EVERY = {"all", "best"}  # what a case may ask for in place of a variant's name


def listed(value):
    return value if isinstance(value, list) else [value]


def variants_of(case, defaults):
    named = set(listed(case.get("variant", defaults.get("variant", "best"))))
    published = {text.split(":")[0] for text in listed(case.get("published", []))}
    # The vendor's row joins every case where it exists.
    return named | published | {"vendor"}


def fault_of(item, inputs, variants):
    """What is wrong with the cases that an item names, or nothing."""
    if item["input"] not in inputs:
        return f"there is no input {item['input']}"
    run, cases = inputs[item["input"]]
    for name in item["cases"].split(","):
        if name not in cases:
            return f"{item['input']} has no case '{name}'"
        workload = cases[name]["workload"]
        if item["variant"] and (workload, item["variant"]) not in variants:
            return f"{workload} has no variant {item['variant']}"
        asked = variants_of(cases[name], run)
        if item["variant"] and item["variant"] not in asked and not asked & EVERY:
            return f"{name} does not run {item['variant']}"
    return None


def read_inputs():
    inputs = {}
    for path in HOME.glob("inputs/*.toml"):
        text = tomllib.loads(path.read_text())
        inputs[path.stem] = text.get("run", {}), {case.get("name", case["workload"]): case for case in text["case"]}
    return inputs


def check_command(program, command, inputs):
    words = shlex.split(command)
    for word in words:
        if word.startswith(("inputs/", "jobs/")):
            check((HOME / word).is_file(), f"{command}: there is no {word}")
    if "--only" in words:
        stem = pathlib.Path(words[words.index("--only") - 1]).stem
        for name in words[words.index("--only") + 1].split(","):
            check(name in inputs[stem][1], f"{command}: there is no case {name}")
    if words[0] != "quadrille":
        check(words[0].startswith("jobs/"), f"{command}: neither the program nor a script")
    elif words[1] in ("explain", "list") and "RESULT" not in words:
        shown = program.call(*words[1:], ranks=0)
        check(shown.returncode == 0 and shown.stdout, command, shown)
    else:
        shown = program.call(words[1], "--help", ranks=0)
        known = all(word.split("=")[0] in shown.stdout for word in words if word.startswith("--"))
        check(shown.returncode == 0 and known, command, shown)


def fault_of_count(text, case, defaults, counters):
    """What is wrong with "VARIANT COUNTER: NUMBER" of a case, or nothing."""
    variant, counter = text.rpartition(": ")[0].split(" ", 1)
    if variant not in variants_of(case, defaults):
        return f"{variant} is not run"
    if counter not in counters:
        return f"there is no counter '{counter}'"
    return None


def check_counts(program, inputs):
    counters = {row["summary"] for row in program.listed("counters")}
    counted = 0
    for run, cases in inputs.values():
        for case in cases.values():
            for text in listed(case.get("published_counts", [])):
                fault = fault_of_count(text, case, run, counters)
                check(fault is None, f"{text}: {fault}")
                counted += 1
    check(counted > 40, f"{counted} counts are published")
    case = {"variant": "naive"}
    for wrong in ("naive sectrs, global loads: 4", "naiv sectors, global loads: 4"):
        check(fault_of_count(wrong, case, {}, counters), f"{wrong} is not found")


def main():
    program = Program(sys.argv[1:])
    items = program.listed("sources")
    inputs = read_inputs()
    variants = {(row["workload"], row["name"]) for row in program.listed("variants")}
    for document in {item["document"] for item in items}:
        places = [item["place"] for item in items if item["document"] == document]
        numbers = [int(place.split()[1]) for place in places if place.split()[0] in ("chapter", "kernel") and " " in place]
        check(numbers == sorted(numbers), f"{document} is not in its order: {places}")
    check([item["document"] for item in items] == sorted(item["document"] for item in items), "documents are mixed")
    for item in items:
        check(item["input"] in inputs, f"{item}: of no input")
        if item["cases"]:
            fault = fault_of(item, inputs, variants)
            check(fault is None, f"{item}: {fault}")
    check_counts(program, inputs)
    for command in {item["command"] for item in items if item["command"]}:
        check_command(program, command, inputs)
    names = [(item["document"], item["place"], item["item"]) for item in items]
    check(len(names) == len(set(names)), f"twice: {[name for name in names if names.count(name) > 1]}")
    check(len({item["document"] for item in items}) == 5, "five documents")
    shown = program.call("list", "sources", ranks=0)
    widest = max(map(len, shown.stdout.splitlines()))
    check(shown.returncode == 0 and widest <= 120, f"list sources prints {widest} characters in a line", shown)

    # The check sees what it is for.
    good = next(item for item in items if item["variant"] == "naive_flat")
    for changed in ({"input": "sgemm"}, {"cases": "laddr"}, {"variant": "naive_flatt"}, {"variant": "simt_naive"}):
        check(fault_of(good | changed, inputs, variants), f"{changed} is not found")
    print(f"{len(items)} items are shown")


main()
