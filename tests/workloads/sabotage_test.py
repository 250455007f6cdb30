# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each fault, injected into each workload, must turn it red and name what is wrong.

`quadrille selftest` injects them, in the cases of small.toml, and of deep.toml, where sums are so long that
rounding is not far below the damage; here stands what each of its cells must be.

sabotage_test.py RANKS BINARY LAUNCHER...
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

# Faults of messages.
OF_MESSAGES = {"drop_message", "misplaced_wait"}
# Faults of inputs do not reach workloads that compute from indices, read what another kernel made, or
# keep their input in memory of the host.
OF_INPUTS = {"f32", "tf32", "bf16", "rank_one"}
WITH_INPUTS = {"vector", "copy", "reduction", "transpose", "ptrans", "gemm", "conv2d", "conv2d_halo",
               "attention", "ring_attention", "paged_decode", "kv_cache",
               "rowwise", "decoder", "parallel_decoder", "summa"}
BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
KEPT = {"f32": 24, "tf32": 11, "bf16": 8}


def cannot_apply(cell, communicates):
    """Whether the fault changes nothing there, which must be said and never pass."""
    fault = cell["fault"]
    if fault in OF_MESSAGES:
        return not communicates[cell["workload"]]
    if fault == "swap_columns" and "phases" in cell["id"]:
        return True  # all elements of a rank are equal
    if fault not in OF_INPUTS:
        return False
    if cell["workload"] not in WITH_INPUTS or "streamed" in cell["id"] or "phases" in cell["id"]:
        return True
    return fault in KEPT and BITS.get(cell["type"], 0) <= KEPT[fault]


def judge(cell, communicates):
    where = f"{cell['fault']} in {cell['id']}: {cell['verdict']} {cell['reason']}"
    if cell["fault"] == "none":
        return check(cell["verdict"] == "PASS", where)
    if cannot_apply(cell, communicates):
        return check(cell["verdict"] == "UNSUPPORTED", where)
    check(cell["verdict"] == "FAIL", where)
    check(" on rank " in cell["reason"] or "row " in cell["reason"], f"no element is named: {where}")
    check("expected" in cell["reason"] and "got" in cell["reason"], f"what was expected is not said: {where}")
    if cell["fault"] == "last_row" and cell["workload"] in {"vector", "gemm", "conv2d", "attention"}:
        check("was not written" in cell["reason"], f"that nobody wrote it is not said: {where}")


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    communicates = {workload["name"]: workload["communicates"] for workload in program.listed("workloads")}
    faults = {row["name"] for row in program.listed("faults")}

    process = program.call("selftest", "--json", "--set", "run.device=host", ranks=ranks, timeout=1100)
    check(process.returncode == 0, "every fault must be caught", process)
    result = json.loads(process.stdout)
    check(result["passed"], "the verdict", process)
    cells = result["cells"]
    for cell in cells:
        judge(cell, communicates)
    for workload in communicates:
        tested = {cell["fault"] for cell in cells if cell["workload"] == workload}
        check(tested == faults | {"none"}, f"{workload}: tested are {sorted(tested)}, there are {sorted(faults)}")

    # The same from outside, as a run ends.
    process, report, _ = program.run(TESTS / "workloads" / "small.toml", "--only", "gemm,summa", "--inject-fault",
                                     "bit_flip", ranks=ranks)
    check(report is not None, "no result was written", process)
    check(process.returncode == 1, "a damaged run must end with 1", process)
    check("RESULT FAIL" in process.stdout, "the last line must say FAIL", process)
    check("--inject-fault bit_flip" in process.stdout, "the result must say that it was damaged", process)
    for case in report["cases"]:
        check(case["verdict"] == "FAIL" and case["rate"] is None, f"a wrong result has no speed: {case}", process)

    # Faults that nothing shows must fail: no message reaches this workload.
    alone = program.call("selftest", "--only", "vector", "--set", "run.device=host", ranks=ranks)
    check(alone.returncode == 1 and "SELFTEST FAIL" in alone.stdout, "faults of messages cannot be caught", alone)
    check("Nowhere caught: drop_message misplaced_wait" in alone.stdout, "which were not", alone)
    widest = max(map(len, alone.stdout.splitlines()))
    check(widest <= 120, f"lines of {widest} characters", alone)

    # One rank has no messages: it tries the rest, and says so.
    one = program.call("selftest", "--set", "run.device=host", ranks=1, timeout=600)
    check(one.returncode == 0 and "SELFTEST PASS" in one.stdout, "faults of one rank are caught", one)
    check("Not tried, for want of a second rank (mpirun -n 2): wrong_rank drop_message misplaced_wait" in one.stdout,
          "which were not tried", one)
    print(f"{len(cells)} measurements turned red or were refused as they should")


main()
