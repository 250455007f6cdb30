# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Results as the programs of others read them: pandas, a strict reader of JSON, a JSON schema, h5py.

exports_test.py BINARY LAUNCHER...
"""
import csv
import io
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
from quadrille import Program, check, read_journal, write_journal  # noqa: E402

try:
    import h5py
    import jsonschema
    import pandas
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

INPUT = """
[run]
device = "host"
transport = "mpi"
repetitions = 3
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
name = "sums"
workload = "allreduce"
type = "f64"
size = [1, 4096]
operation = "max"
variant = "transport"

[[case]]
workload = "pairs"
type = "f64"
size = "1000"
variant = "transport"

[[case]]
workload = "vector"
size = "1007"
variant = "reference"
"""
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def once(pairs):
    check(len(dict(pairs)) == len(pairs), f"a key stands twice: {[key for key, _ in pairs]}")
    return dict(pairs)


def main():
    program = Program(sys.argv[1:])
    process, _, directory = program.run(program.input(INPUT), ranks=2)
    check(process.returncode == 0, "the run", process)

    # What somebody else wrote, as a table calculation would take it for a formula.
    hostile = program.folder / "hostile"
    hostile.mkdir()
    lines = read_journal(directory)
    for line in lines:
        if "schema" in line:
            line["run_id"] = "@SUM(A1)"
        if line.get("workload") == "vector":
            line.update(id="=1+2", name="-cmd", verdict="FAIL", reason='+"a",\nb', seconds=[])
    write_journal(hostile, lines)

    text = program.call("report", "--csv", directory, hostile, ranks=0).stdout
    head, *rows = csv.reader(io.StringIO(text), strict=True)
    check(len(set(head)) == len(head), f"columns of one name: {head}")
    check(all(len(row) == len(head) for row in rows), "a field for each column")
    for field in {field for row in [head, *rows] for field in row if field.startswith(FORMULAS)}:
        check(field == repr(float(field)) or field == str(int(field)), f"'{field}' is a formula")

    table = pandas.read_csv(io.StringIO(text), float_precision="round_trip")
    # Of each run four measurements, and two pairs behind that of pairs.
    check(len(table) == 2 * (4 + 2), f"{len(table)} lines")
    check(list(table["run_id"].unique()) == [directory.name, "'@SUM(A1)"], f"{table['run_id'].unique()}")
    first = table[table["run_id"] == directory.name]
    sums = first[first["workload"] == "allreduce"]
    check(list(sums["message_bytes"]) == [8, 32768] and set(sums["settings.operation"]) == {"max"}, f"{sums}")
    for value, times_time in (("algbw (B/s)", sums["message_bytes"]), ("busbw (B/s)", sums["message_bytes"])):
        # 2 (P - 1) / P is 1 on two ranks.
        check(((sums[value] * sums["median_s"] / times_time - 1).abs() < 1e-12).all(), f"{value}: {sums[value]}")
    check(((sums["latency_us"] / sums["median_s"] / 1e6 - 1).abs() < 1e-12).all(), f"{sums['latency_us']}")
    pairs = first[first["pair_from"].notna()]
    check(list(zip(pairs["pair_from"], pairs["pair_to"], pairs["pair_bytes"])) == [(0, 1, 8000), (1, 0, 8000)], f"{pairs}")
    check((pairs[["pair_latency_s", "pair_rate"]] > 0).all(axis=None), f"{pairs}")
    failed = table[table["verdict"] == "FAIL"]
    check(list(failed["id"]) == ["'=1+2"] and failed[["median_s", "rate"]].isna().all(axis=None), f"{failed}")

    runs = json.loads(program.call("report", "--json", directory, hostile, ranks=0).stdout, parse_constant=refuse,
                      object_pairs_hook=once)
    schema = json.loads((ROOT / "src/report/report.schema.json").read_text())
    for run in runs:
        jsonschema.Draft202012Validator(schema).validate(run)
    measured = first[first["pair_from"].isna()]
    for key in ("median_s", "rate", "message_bytes", "latency_us"):
        told = [case[key] for case in runs[0]["cases"]]
        same = [(a is None and pandas.isna(b)) or a == b for a, b in zip(told, measured[key], strict=True)]
        check(all(same), f"{key}: {told} in JSON, {list(measured[key])} in CSV")
    extras = {extra["name"]: extra["rate"] for extra in runs[0]["cases"][1]["extras"]}
    check(extras == {"algbw": sums["algbw (B/s)"].iloc[1], "busbw": sums["busbw (B/s)"].iloc[1]}, f"{extras}")

    with h5py.File(directory / "result.h5") as file:
        medians = {case.attrs["id"]: case["summary"].attrs["median_s"] for case in file["cases"].values()}
    check(medians == dict(zip(measured["id"], measured["median_s"])), f"{medians} in HDF5")


if __name__ == "__main__":
    main()
