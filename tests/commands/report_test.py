# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Pages and scaling of real runs: what is asked for is written, and what cannot be is one line.

report_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import re
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
workload = "integral"
size = "100k"
variant = "kokkos"

[[case]]
name = "weak"
workload = "summa"
size = "64"
weak = true
panel = 16
variant = "kokkos"

[[case]]
workload = "allreduce"
size = [1, 64, 4096]
variant = "reference"
"""


def main():
    program = Program(sys.argv[1:])
    source = program.input(INPUT)
    runs = {}
    for ranks in (1, 2, 4):
        process, report, runs[ranks] = program.run(source, "--trace", program.folder / f"trace-{ranks}.json", ranks=ranks)
        check(process.returncode == 0, f"on {ranks} ranks", process)
        sizes = {case["workload"]: case["size"] for case in report["cases"]}
        expected = {1: 64, 2: 91, 4: 128}[ranks]  # 64 sqrt(ranks)
        check(sizes["summa"] == [expected], f"weak on {ranks} ranks: {sizes}")
        check(sizes["integral"] == [100000], f"{sizes}")

    def report(*arguments, code=0):
        process = program.call("report", *arguments, ranks=0)
        check(process.returncode == code, f"report {arguments} must end with {code}", process)
        check(code == 0 or "quadrille:" in process.stderr, "a reason", process)
        return process

    page = program.folder / "page.html"
    shown = report("--html", page, runs[1], runs[2])
    check(shown.stdout == f"wrote {page}\n", "it says what it wrote", shown)
    text = page.read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    check([len(result["run"]["ranks"]) for result in data["results"]] == [1, 2], "two results side by side")
    check(data["scaling"] is None, "nobody asked for it")
    report("--html", page, runs[1])  # an older page gives way
    report("--html", page, "--trace", program.folder / "trace-2.json", runs[2])
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
    of = next(case["id"] for case in data["results"][0]["cases"] if case["workload"] == "summa")
    timeline = data["timelines"]["drawn"][of]
    check({row["rank"] for row in timeline["rows"]} == {0, 1}, f"rows of the trace are {timeline['rows']}")
    check({"kernel", "exchange"} <= {span["kind"] for span in timeline["spans"]}, "work and messages are drawn")
    for trace, why in ((source, "is no trace"), (program.folder / "absent", "cannot be read")):
        check(why in report("--html", page, "--trace", trace, runs[2], code=2).stderr, why)
    report("--html", source, runs[1], code=2)
    check(source.read_text() == INPUT, "what is no page stays")
    shown = report("--html", program.folder / "absent" / "page.html", runs[1], code=2)
    check(len(shown.stderr.splitlines()) == 1 and "no file can be written" in shown.stderr, "an absent folder", shown)
    shown = report(runs[1], runs[2]).stdout.splitlines()
    second = next(i for i, line in enumerate(shown) if line.startswith("RESULT PASS executed=")) + 1
    check(not shown[second] and shown[second + 1].startswith("Quadrille "), f"a blank line between runs: {shown[second:]}")

    # The tables of other programs, of which scripts read the columns by their place.
    for form, head, columns in (("osu", "# OSU MPI Allreduce Latency Test", 2), ("nccl-tests", "# Collective test starting: all_reduce_perf", 9)):
        lines = report("--format", form, "--only", "allreduce", runs[2]).stdout.splitlines()
        check(lines[0] == head, f"{lines}")
        rows = [line.split() for line in lines if line and line[0] != "#"]
        check([int(row[0]) for row in rows] == [8, 512, 32768], f"bytes of f64: {rows}")
        check(all(len(row) == columns for row in rows), f"{rows}")
        times = [float(row[1 if columns == 2 else 5]) for row in rows]
        told = [case["latency_us"] for case in json.loads(report("--format", "json", runs[2]).stdout)["cases"] if case["workload"] == "allreduce"]
        check(all(abs(a - b) <= 0.006 + b / 1e3 for a, b in zip(times, told, strict=True)), f"{times} {told}")
        refused = report("--format", form, runs[2], code=8)
        check(len(refused.stderr.splitlines()) == 1 and "--only" in refused.stderr and not refused.stdout, "other cases", refused)
    report("--only", "allreduce", runs[2], code=2)
    check(report("--format", "csv", runs[2]).stdout == report("--csv", runs[2]).stdout, "one form, two names")
    report("--format", "csv", "--json", runs[2], code=2)
    report("--format", "xml", runs[2], code=2)

    shown = report("--scaling", runs[4], runs[1], runs[2], "--html", page).stdout
    for wanted in ("scaling over 1, 2, 4 ranks", "strong scaling: integral", "weak scaling: summa", "Amdahl",
                   "each doubling of ranks adds", "exchanges: time = latency + bytes / bandwidth", f"wrote {page}"):
        check(wanted in shown, f"'{wanted}' is not in {shown}")
    check('"growth":"weak"' in page.read_text(), "the page has the curves")
    for arguments, why in (((runs[1],), "at least two"), ((runs[1], runs[1]), "the same number of ranks, 1")):
        check(why in report("--scaling", *arguments, code=2).stderr, why)


if __name__ == "__main__":
    main()
