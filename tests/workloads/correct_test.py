# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Every case of an input passes its check at this number of ranks, with this chunk size.

correct_test.py INPUT RANKS CHUNK_BYTES BINARY LAUNCHER...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check, last_line  # noqa: E402


def main():
    source, ranks, chunk = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    program = Program(sys.argv[4:])
    min_ranks = {workload["name"]: workload["min_ranks"] for workload in program.listed("workloads")}
    process, report, _ = program.run(TESTS / "workloads" / source, "--set", f"run.chunk_bytes={chunk}",
                                     "--set", "run.vendor=auto", "--set", "run.repetitions=2", ranks=ranks,
                                     timeout=180)
    check(process.returncode == 0, "the run must pass", process)
    check(last_line(process).startswith("RESULT PASS"), "the last line must say PASS", process)
    check(report["cases"], "no cases", process)
    for case in report["cases"]:
        expected = "PASS" if ranks >= min_ranks[case["workload"]] else "UNSUPPORTED"
        check(case["verdict"] == expected, f"{case['id']}: {case['verdict']}: {case['reason']}", process)
    # No vendor multiplies whole numbers on a host.
    summa = [case for case in report["cases"] if case["workload"] == "summa" and case["type"] in ("f64", "f32")]
    names = {case["id"].split(":")[0] for case in summa}
    local = {case["id"].split(":")[0] for case in summa if case["variant"] == "local_products"}
    check(local == names, "summa has local products beside it", process)
    shares = [case["share_of_local"] for case in summa]
    check(all(share is not None and share > 0 for share in shares), f"shares of local products: {shares}", process)
    print(f"{len(report['cases'])} cases at {ranks} ranks")


main()
