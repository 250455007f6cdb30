# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Every variant that runs on a host passes with every type that it lists, or says why it cannot.

The cases are those of small.toml. Variants that show a mistake are left out: no result of theirs is
right.

every_variant_test.py RANKS BINARY LAUNCHER...
"""
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check, last_line  # noqa: E402

# What a type is computed in, where a variant lists more than one, is a key of the case.
COMPUTE_KEYS = ("compute", "accumulator")


def listed(program, what):
    process = program.call("list", what, "--json", ranks=0)
    check(process.returncode == 0, f"list {what} must work", process)
    return json.loads(process.stdout)


def cases_of(row, keys):
    """[(type, lines for what it is computed in and stored as)] of a variant."""
    combinations = [text.split(":") for text in row["computes"]]
    if "out" not in keys:
        combinations = [parts for parts in combinations if len(parts) < 3]
    key = next((key for key in COMPUTE_KEYS if key in keys), None)
    for name, *others in combinations:
        is_one = [parts[0] for parts in combinations].count(name) == 1
        check(is_one or key, f"{row['workload']} has no key for what {name} is computed in")
        usual = "auto" if key == "compute" else name
        is_usual = is_one and (not others or not key)
        lines = "" if is_usual else f'{key} = "{others[0] if others else usual}"\n'
        yield name, lines + (f'out = "{others[1]}"\n' if len(others) > 1 else "")


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    workloads = {row["name"]: row for row in listed(program, "workloads")}
    head, *blocks = (TESTS / "workloads" / "small.toml").read_text().split("[[case]]\n")

    variants = collections.defaultdict(list)  # (workload, type, lines of keys): names
    for row in listed(program, "variants"):
        if not row["available"] or row["where"] == "cuda" or row["role"] == "demonstration":
            continue
        for name, lines in cases_of(row, workloads[row["workload"]]["keys"]):
            variants[row["workload"], name, lines].append(row["name"])

    text = head
    expected = {}  # (case, variant): (workload, variant, type, lines)
    for (workload, name, lines), names in variants.items():
        chosen = [block for block in blocks if f'workload = "{workload}"\n' in block]
        check(chosen, f"small.toml has no case of {workload}")
        for block in chosen:
            case = f"case{len(expected)}"
            kept = re.sub(r"^(name|type|variant|out) = .*\n", "", block, flags=re.MULTILINE)
            kept = kept.split("\n#")[0].rstrip() + "\n"  # the comment before the next case
            text += f'[[case]]\nname = "{case}"\ntype = "{name}"\nvariant = {json.dumps(names)}\n{lines}{kept}\n'
            expected.update({(case, variant): (workload, variant, name, lines) for variant in names})
    source = program.input(text)

    process, report, _ = program.run(source, ranks=ranks)
    check(report is not None, "no result was written", process)
    passed, reasons = set(), collections.defaultdict(set)
    seen = set()
    for row in report["cases"]:
        key = row["id"].split(":")[0].split(".")[0], row["variant"]
        check(key in expected, f"{row['id']} was not asked for", process)
        seen.add(key)
        what = f"{expected[key]}: {row['verdict']}: {row['reason']}"
        if row["verdict"] == "PASS":
            passed.add(expected[key])
            continue
        check(row["verdict"] == "UNSUPPORTED", what, process)
        check(row["reason"], f"{what} has no reason", process)
        reasons[expected[key]].add(row["reason"])
    missing = expected.keys() - seen
    check(not missing, f"no row of {[expected[key] for key in missing]}", process)
    for key, why in reasons.items():
        lonely = workloads[key[0]]["min_ranks"] > ranks
        check(key in passed or lonely, f"{key} passes in no case: {why}", process)
        check(key not in passed or not lonely, f"{key} passes on too few ranks", process)
    # All variants are asked for by name: what cannot run is no pass.
    check(process.returncode == (3 if reasons else 0), "the exit code must tell of refused variants", process)
    check(last_line(process).startswith(f"RESULT {'FAIL' if reasons else 'PASS'}"), "the last line must, too", process)
    check((' named variants cannot run: ' in last_line(process)) == bool(reasons), "it must name them", process)
    refused = sum(row["verdict"] == "UNSUPPORTED" for row in report["cases"])
    check(f" of={len(report['cases'])} " in last_line(process), "the last line must count the rows", process)
    check(f" unsupported={refused} " in last_line(process), "the last line must count refused variants", process)
    print(f"{len(passed)} of {len(set(expected.values()))} combinations pass at {ranks} ranks, "
          f"{len(report['cases'])} rows; refused somewhere: {len(reasons)}")
    for key, why in reasons.items():
        print(*map(str.strip, key), *why, sep="; ")


main()
