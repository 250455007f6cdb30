# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Two runs are compared: what got slower, broke or is missing is found, and ends with the promised code.

compare_test.py BINARY LAUNCHER...
"""
import copy
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal, write_journal  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 8
batch = 10
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
workload = "vector"
size = "10007"
variant = ["reference", "kokkos"]

[[case]]
workload = "summa"
size = "64"
panel = 16
variant = "kokkos"
"""
HOSTILE = "<&\"'>\x1b[2J\u009b\n"


def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT)
    runs = [program.run(source, ranks=2) for _ in range(2)]
    for process, _, _ in runs:
        check(process.returncode == 0, "the runs must pass", process)
    first, second = (directory for _, _, directory in runs)

    def compare(*arguments, code=0):
        """Ends with `code`, or one of them, and, where it is an error, with one line that says why."""
        process = program.call("compare", *arguments, ranks=0)
        check(process.returncode in (code if isinstance(code, tuple) else (code,)), f"compare {arguments} must end with {code}", process)
        check(all(len(line) <= 80 for line in process.stdout.splitlines()) or "--json" in arguments, "80 columns",
              process)
        check(len(process.stderr.splitlines()) == (1 if process.returncode in (2, 8, 9) else 0), "one line of reason", process)
        return process

    def counts(*arguments, code=0):
        shown = json.loads(compare("--json", *arguments, code=code).stdout)
        return {change: n for change, n in shown["counts"].items() if n}, shown

    # Real runs, whatever the machine did to them in between: three measurements, all in both.
    for new in (second, second / "result.h5", second / "result.jsonl"):
        found, shown = counts(first, new, code=(0, 9))
        check(sum(found.values()) == 3 and not {"REFUSED", "ONLY_IN_NEW", "ONLY_IN_BASE"} & set(found), f"{found}")
    check(not shown["environment"], f"nothing else changed: {shown['environment']}")
    # "The latest of a directory" may be the base itself, which no gate passes.
    for new in (first, first / "result.jsonl"):
        check(compare(first, new, "--gate", code=2).stdout == "", "a run is not compared with itself")

    # Journals of runs with times that are known.
    lines = read_journal(first)
    numbers = iter(range(100))

    def doctored(change=None):
        """A run like the first, of which each time is 1 ms within 0.1 %, changed by change(run, records)."""
        result = copy.deepcopy(lines)
        records = {line["id"]: line for line in result if "id" in line}
        for record in records.values():
            ranks = record["ranks"]
            record["suspect"] = []
            record["seconds"] = [1e-3 * (1 + 1e-4 * (i // ranks)) for i in range(8 * ranks)]
        runs = [line for line in result if "schema" in line]
        directory = program.folder / f"doctored{next(numbers)}"
        directory.mkdir()
        for run in runs:
            run["run_id"] = directory.name
        if change:
            change(runs, records)
        kept = [line for line in result if "id" not in line or any(line is record for record in records.values())]
        write_journal(directory, kept)
        return directory

    def scaled(name, factor):
        def change(_, records):
            records[name]["seconds"] = [factor * time for time in records[name]["seconds"]]
        return change

    base = doctored()
    found, shown = counts(base, doctored(), "--gate")
    check(found == {"SAME": 3} and not shown["regression"], f"equal runs: {found}")
    alike = doctored()
    check("SAME" not in compare(base, alike).stdout and "SAME" in compare(base, alike, "--details").stdout, "--details")

    slower = doctored(scaled("vector:kokkos", 1.05))
    check(counts(base, slower)[0] == {"SLOWER": 1, "SAME": 2}, "5 % slower")
    shown = compare(base, slower, "--gate", code=6)
    check(shown.stdout.startswith("1 slower, 0 faster, 2 same") and "vector:kokkos" in shown.stdout, "summary", shown)
    compare(base, slower, "--gate", "--margin", "10%")
    compare(slower, base, "--gate")
    check(counts(slower, base)[0] == {"FASTER": 1, "SAME": 2}, "the other way round it is faster")
    several = counts(base, doctored(scaled("vector:kokkos", 1.04)), doctored(scaled("vector:kokkos", 0.96)), slower)[0]
    check(several == {"AMBIGUOUS": 1, "SAME": 2}, f"base runs that differ as much: {several}")

    # Too few samples for an interval: the numbers are shown, and the end says that nothing was decided.
    def short(_, records):
        for record in records.values():
            record["seconds"] = [1.05 * time for time in record["seconds"][:5 * record["ranks"]]]

    few = doctored(short)
    shown = compare(base, few, "--gate", code=9)
    check(shown.stdout.count("+4.98 % no interval") == 3 and "nothing could be decided" in shown.stderr, "few", shown)
    found, shown = counts(base, few, code=9)
    check(found == {"AMBIGUOUS": 3} and shown["undecided"], f"few: {found}")

    def hot(_, records):
        short(_, records)
        for record in records.values():
            record["seconds"] = 2 * record["seconds"]
            record["suspect"] = ["a thermal slowdown lowered the device's clock"]

    shown = compare(base, doctored(hot), "--gate", code=9)
    check(shown.stdout.count("(+4.98 %) ") == 3, "a SUSPECT row is not SLOWER", shown)

    def broken(_, records):
        records["summa:kokkos"].update(verdict="FAIL", reason=HOSTILE, seconds=[])

    shown = compare(base, doctored(broken), "--gate", code=6)
    check("BROKEN" in shown.stdout and "\x1b" not in shown.stdout and "\\x1b[2J\\xc2\\x9b\\x0a" in shown.stdout,
          "a terminal shows what somebody wrote, and obeys none of it", shown)
    check(counts(doctored(broken), base)[0] == {"NO_SPEED": 1, "SAME": 2}, "what failed before has no speed")

    def missing(_, records):
        del records["summa:kokkos"]

    def died(runs, records):
        missing(runs, records)
        for run in runs:
            run["status"] = "running"

    found, _ = counts(base, doctored(missing), "--gate")
    check(found == {"ONLY_IN_BASE": 1, "SAME": 2}, f"a case may be left out: {found}")
    check(counts(doctored(missing), base)[0] == {"ONLY_IN_NEW": 1, "SAME": 2}, "a case is new")
    shown = compare(base, doctored(died), "--gate", code=6)
    check("did not end" in shown.stdout, "a run that died has not passed", shown)

    def elsewhere(runs, records):
        for run in runs:
            run["environment"] = [["CUDA_HOSTILE", HOSTILE]]
        for record in records.values():
            record.update(device=HOSTILE, timing="device")

    other = doctored(elsewhere)
    shown = compare(base, other, code=8)
    # Once for neighbours of which no more is to be said than of each other.
    check("timing: synchronised -> device" in shown.stdout and "CUDA_HOSTILE" in shown.stdout,
          "every differing field is named", shown)
    check("no baseline" in shown.stderr, "nothing is alike", shown)
    found, _ = counts(base, other, "--across", "device")
    check(found == {"SAME": 3}, f"the same on other devices: {found}")
    check(compare(base, other, "--across", "device", "--gate", code=2).stdout == "", "no gate judges other devices")

    def hostile(_, records):
        record = records["vector:kokkos"]
        record.update(id=HOSTILE + "\ufffe", name=HOSTILE, seconds=[2 * time for time in record["seconds"]])

    report = program.folder / "report.xml"
    compare("--junit", report, base, doctored(hostile))
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    names = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    check(names == ["<&\"'>\\x1b[2J\\xc2\\x9b\\x0a\\xef\\xbf\\xbe"], f"SLOWER fails, by its name: {names}")
    check(suite.get("tests") == "3" and suite.get("failures") == "1", f"{suite.attrib}")
    compare("--junit", report, base, other, code=8)
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    check(suite.get("skipped") == "3", "an earlier report is replaced, and refused cases are skipped")

    page = program.folder / "comparison.html"
    for new, code in ((slower, 6), (other, 8)):  # an earlier page gives way
        shown = compare("--html", page, base, new, "--gate", code=code)
        text = page.read_text()
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
        check(data["new"]["run_id"] == new.name and data["regression"] == (code == 6), f"the page of {new.name}", shown)
        check(shown.stdout.startswith(f"{data['counts']['SLOWER']} slower"), "the text is there too", shown)

    # No baseline, and what cannot be read.
    before = (first / "result.h5").read_bytes()
    for arguments, code, word in [
        ([first], 8, "no baseline"),
        ([first, program.folder / "nowhere"], 2, "nowhere"),
        ([source, first], 2, "input.toml"),
        ([first, second, "--margin", "1"], 2, "--margin"),
        ([first, second, "--margin", "-1%"], 2, "--margin"),
        ([first, second, "--margin", "nan%"], 2, "--margin"),
        ([first, first / "result.jsonl", second], 2, "twice"),
        (["--junit", first / "result.h5", first, second], 2, "--junit: "),
        (["--html", first / "result.h5", first, second], 2, "--html: "),
        (["--html", program.folder / "page", "--junit", first / ".." / "page", first, second], 2,
         "name one file"),
        (["--html", program.folder / "absent" / "page.html", program.folder / "nowhere", second], 2, "no file can be written"),
    ]:
        process = compare(*arguments, code=code)
        check(word in process.stderr and not process.stdout, f"'{word}' is missing", process)
    check((first / "result.h5").read_bytes() == before, "a result was overwritten")
    check(program.call("compare", ranks=0).returncode == 2, "no argument at all")
    shown = program.call("compare", "--help", ranks=0)
    check(shown.returncode == 0 and "Example:" in shown.stdout, "--help has an example", shown)
    print("runs are compared as promised")


main()
