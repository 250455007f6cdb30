# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Attention over a ring of ranks passes by every transport, and by all of them with the same bits.

Sequences that ranks do not divide, fewer tokens than ranks, both partitions of tokens, in all legs.

ring_attention_test.py RANKS BINARY LAUNCHER...
"""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 2
warmup = { count = 1, seconds = 0 }
check = "full"
chunk_bytes = "4Ki"
transport = "all"

[[case]]
name = "causal"
workload = "ring_attention"
type = "f16"
mask = "causal"
partition = ["zigzag", "striped"]
sequence = "whole"
size = "(1,4,2,131,64)"
variant = "all"
legs = true

# Computing takes longer than messages, which must not overwrite what is still read.
[[case]]
name = "slow"
workload = "ring_attention"
type = "f32"
mask = "full"
sequence = "whole"
size = "(1,8,1,241,64)"
variant = "reference"

[[case]]
name = "full"
workload = "ring_attention"
type = "f32"
mask = "full"
size = "(2,2,1,21,64)"
variant = "all"

[[case]]
name = "few"
workload = "ring_attention"
type = "f32"
mask = ["causal", "full"]
partition = ["zigzag", "striped"]
sequence = "whole"
size = "(1,2,1,3,64)"
variant = "all"

[[case]]
name = "wide"
workload = "ring_attention"
type = "bf16"
mask = "causal"
size = "(1,2,2,17,128)"
variant = "all"
"""


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    source = program.input(INPUT)

    process, report, _ = program.run(source, ranks=ranks)

    check(process.returncode == 0, "the run must pass", process)
    check(last_line(process).startswith("RESULT PASS"), "the last line must say PASS", process)
    digests = collections.defaultdict(dict)
    for case in report["cases"]:
        if case["verdict"] == "UNSUPPORTED":  # a transport of GPUs, or of several nodes
            check(case["reason"], f"{case['id']} is refused without a reason", process)
            continue
        check(case["verdict"] == "PASS", f"{case['id']}: {case['verdict']}: {case['reason']}", process)
        check(case["digest"], f"{case['id']}: no digest", process)
        name = case["id"].split(":")[0].removesuffix("." + case["transport"])
        digests[name, case["variant"]][case["transport"]] = case["digest"]
    for case, of_transports in digests.items():
        check(len(set(of_transports.values())) == 1, f"{case} has other bits by another transport: {of_transports}",
              process)
    least = min(map(len, digests.values()))
    check(least > 1, f"only one transport: {digests}", process)
    check(len(digests) == 17, f"expected 9 cases, 8 of 2 variants, saw {sorted(digests)}", process)
    print(f"{len(digests)} results have the same bits at {ranks} ranks by {least} transports")


main()
