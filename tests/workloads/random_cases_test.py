# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""No right result is called wrong: random small cases of every workload, type and kind of data.

Extents are 1 to 300, options those of ragged panels, blocks and grids. Every variant must pass or be
refused with a reason.

random_cases_test.py SEED CASES RANKS BINARY LAUNCHER...
"""
import collections
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

HEAD = """[run]
device = "host"
repetitions = 2
warmup = { count = 1, seconds = 0 }
check = "full"
chunk_bytes = "4Ki"
"""
# Extents that are no numbers of elements, or of work that takes long.
SIZES = {"memory": lambda draw: f"{16 * draw.randint(1, 8)}Ki", "api": lambda draw: str(draw.randint(1, 40)),
         "peak": lambda draw: f"{2 * draw.randint(1, 4)}Mi",
         **dict.fromkeys(("conv2d", "conv2d_halo"), lambda draw: "(%d,%d,%d,%d,%d,%d,%d)" % (
             *(draw.randint(*most) for most in ((1, 3), (1, 9), (7, 20), (7, 20), (1, 20), (1, 3), (1, 3))),)),
         "attention": lambda draw: "(%d,%d,%d,%d,%d,%d)" % (draw.randint(0, 2), 6, draw.choice([1, 2, 3, 6]),
                                draw.randint(0, 150), draw.randint(0, 300), draw.choice([64, 128])),
         "ring_attention": lambda draw: "(%d,6,%d,%d,%d)" % (draw.randint(0, 2), draw.choice([1, 2, 3, 6]),
                                draw.randint(0, 90), draw.choice([64, 128])),
         "paged_decode": lambda draw: "(%d,6,%d,%d,%d)" % (draw.randint(1, 5), draw.choice([1, 2, 3, 6]),
                                draw.randint(1, 300), draw.choice([64, 128])),
         "kv_cache": lambda draw: "(%d,%d,%d,%d)" % (draw.randint(1, 5), draw.randint(1, 90), draw.randint(1, 5),
                                draw.choice([64, 128, 256])),
         "sampler": lambda draw: "(%d,%d)" % (draw.randint(1, 9), draw.randint(3, 900)),
         "rowwise": lambda draw: "(%d,%d)" % (draw.randint(1, 60), 64 * draw.randint(1, 9)),
         "parallel_serving": lambda draw: str(draw.randint(1, 6)),
         "parallel_decoder": lambda draw: "(%d,%d,640,10,10,%d)" % (draw.randint(1, 7), draw.randint(1, 40),
                                                                     10 * draw.randint(1, 20)),
         "decoder": lambda draw: "(%d,%d,%d,2,%d,%d)" % (draw.randint(1, 7), draw.randint(1, 40), draw.choice([128, 256]),
                                                          draw.randint(1, 2), draw.randint(1, 200))}
# A model that a host computes in a moment.
FIXED = {"parallel_serving": "heads = 12\nkv_heads = 12\nvocabulary = 100\nmax_length = 64\nprompt_tokens = \"uniform 1 30\"\n"
                             "kv_memory = \"8Mi\"\nswap_memory = \"1Mi\"\nmax_running = 4\nbudget = 32\n"}
DATA = ["uniform", "normal", "positive", "scaled", "integer", "constant", "zeros"]
ANY_BITS = ["bits", "inverted"]


def options(draw, workload, value_type, ranks):
    """Lines of a case of this type for some of the keys that the workload has."""
    def divisors(n):
        return [p for p in range(1, n + 1) if n % p == 0]

    # What layers have of C is added up by a transport.
    are_added = "layers" in workload["keys"] and value_type in ("f64", "f32", "i64", "i32")
    layers = draw.choice(divisors(ranks)) if are_added else 1
    beams = draw.choice([0, 1, 3])
    choices = {
        "layers": lambda: layers,
        "schedule": lambda: draw.choice(["broadcast", "cannon"]),
        "grid": lambda: draw.choice([f"{p}x{ranks // layers // p}" for p in divisors(ranks // layers)]),
        "panel": lambda: draw.randint(1, 80),
        "buffers": lambda: draw.randint(1, 3),
        "block": lambda: draw.choice([0, draw.randint(1, 40)]),
        "alpha": lambda: draw.choice([1, -2, 3]),
        "beta": lambda: draw.choice([0, 0, 1, -3]),
        "layout": lambda: draw.choice(["nchw", "nhwc"] if "conv2d" in workload["name"] else ["nn", "nt", "tn", "tt"]),
        # Of memory a GPU's rows alone have strides.
        "stride": lambda: 1 if workload["name"] == "memory" else draw.randint(1, 3),
        # Of a convolution they divide its channels.
        "groups": lambda: draw.choice([1, 1, 2, 5]) if workload["name"] == "gemm" else 1,
        "padding": lambda: draw.randint(0, 3),
        "dilation": lambda: draw.randint(1, 3),
        "block_size": lambda: draw.choice([8, 16, 32] if "serving" in workload["name"] else [8, 16, 32, 64, 128]),
        "pieces": lambda: draw.randint(1, 5),
        "joint": lambda: draw.choice(["allreduce", "reduce_scatter"]),
        "lengths": lambda: draw.choice(["equal", "uniform", "long_tail"]),
        "mask": lambda: draw.choice(["full", "causal"]),
        "partition": lambda: draw.choice(["zigzag", "striped"]),
        "sequence": lambda: draw.choice(["per_rank", "whole"]),
        "reproducible": lambda: draw.choice([True, False]),
        "rule": lambda: draw.choice(["midpoint", "simpson", "gauss_legendre"]),
        "integrand": lambda: draw.choice(["sin2cos2", "arctan", "gauss", "runge"]),
        "intervals": lambda: draw.randint(2, 6),
        "volume": lambda: "256Ki",
        # Of rotary positions heads divide the features.
        "head_size": lambda: 64,
        "temperature": lambda: draw.choice([0.2, 1, 5]),
        # Beams are of all tokens.
        "beams": lambda: beams,
        "top_p": lambda: draw.choice([1] if beams > 0 else [1, 0.5, 0.95]),
        "samples": lambda: draw.choice([1, 3]),
        "beam_search": lambda: draw.choice([True, False]),
    }
    operations = {"kv_cache": ["write", "read", "copy", "swap_out", "swap_in"], "rowwise": ["layer_norm", "rms_norm", "gelu", "swiglu", "rotary", "embedding"], "reduction": ["sum", "min", "max", "dot", "norm2"], "vector": ["add", "quadratic"],
                  "allreduce": ["sum", "min", "max"]}
    if workload["name"] in operations:
        choices["operation"] = lambda: draw.choice(operations[workload["name"]])
    for key, value in choices.items():
        if key not in workload["keys"]:
            continue
        drawn = value()
        yield f'{key} = "{drawn}"' if isinstance(drawn, str) else f"{key} = {str(drawn).lower()}"


def main():
    seed, count, ranks = map(int, sys.argv[1:4])
    program = Program(sys.argv[4:])
    draw = random.Random(seed)
    types = collections.defaultdict(set)
    for row in program.listed("variants"):
        if row["available"] and row["where"] != "cuda":
            types[row["workload"]].update(row["computes"])
    workloads = [row for row in program.listed("workloads") if types[row["name"]]]
    text = HEAD
    for at in range(count):
        workload = workloads[at % len(workloads)]
        name = workload["name"]
        extents = [str(draw.randint(1, 300)) for _ in workload["extents"]]
        size = SIZES[name](draw) if name in SIZES else f"({','.join(extents)})"
        text += f'[[case]]\nname = "case{at}"\nworkload = "{name}"\nsize = "{size}"\nvariant = "all"\n'
        drawn = draw.choice(sorted(types[name])).split(":")
        type_keys = zip(["type", "compute", "out"], drawn)
        text += "".join(f'{key} = "{value}"\n' for key, value in type_keys if key in workload["keys"])
        is_any_bits = name in ("copy", "pairs") and drawn[0].startswith("i")
        text += f'data = "{draw.choice(DATA + ANY_BITS * is_any_bits)}"\nseed = {draw.randint(1, 99)}\n'
        text += "\n".join(options(draw, workload, drawn[0], ranks)) + "\n" + FIXED.get(name, "")
    source = program.input(text)

    process, report, _ = program.run(source, ranks=ranks, timeout=1200)
    check(report is not None, "no result was written", process)
    counts = collections.Counter()
    for row in report["cases"]:
        counts[row["verdict"]] += 1
        if row["verdict"] in ("PASS", "UNSUPPORTED"):
            check(row["verdict"] == "PASS" or row["reason"], f"{row['id']} is refused without a reason", process)
            continue
        case = text.split("[[case]]\n")[1 + int(row["id"].split(":")[0].removeprefix("case"))]
        check(False, f"seed {seed}: {row['id']}: {row['verdict']}: {row['reason']}\n{case}", process)
    check(counts["PASS"] > counts["UNSUPPORTED"] / 2, f"too much is refused: {counts}", process)
    print(f"seed {seed}, {ranks} ranks: {count} cases, {dict(counts)}")


main()
