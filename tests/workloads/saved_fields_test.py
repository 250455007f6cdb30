# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""What `save = true` writes is read by h5py and agrees with numpy.

saved_fields_test.py RANKS BINARY LAUNCHER...
"""
import math
import pathlib
import sys

try:
    import h5py
    import numpy
except ImportError:
    print("python3-h5py is not installed")
    raise SystemExit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

INPUT = """
[run]
device = "host"
repetitions = 1
warmup = { count = 1, seconds = 0 }
save = true
vendor = "off"
chunk_bytes = "64Ki"

[[case]]
name = "product"
workload = "summa"
type = "f64"
size = "(233,211,307)"
panel = 50
variant = "host_simd"

[[case]]
name = "cyclic"
workload = "summa"
type = "f32"
size = "(150,160,170)"
panel = 50
block = 32
variant = "host_simd"

[[case]]
name = "turned"
workload = "ptrans"
type = "f32"
size = "(233,307)"
panel = 64

[[case]]
name = "narrow"
workload = "ptrans"
type = "f16"
size = "(233,307)"
panel = 64

[[case]]
name = "waves"
workload = "integral"
type = "f64"
size = "1000003"

[[case]]
name = "vector"
workload = "vector"
size = "10007"

[[case]]
name = "copy"
workload = "copy"
size = "10007"

[[case]]
name = "memory"
workload = "memory"
size = "48Ki"
volume = "1Mi"

[[case]]
name = "api"
workload = "api"
size = "1007"

[[case]]
name = "pipeline"
workload = "pipeline"
size = "30007"
intervals = 4

[[case]]
name = "transpose"
workload = "transpose"
size = "(133,257)"

[[case]]
name = "reduction"
workload = "reduction"
operation = "dot"
size = "100003"

[[case]]
name = "streamed"
workload = "reduction"
size = "100003"
source = "host"
chunk = "128Ki"

[[case]]
name = "gemm"
workload = "gemm"
size = "(51,47,53)"

[[case]]
name = "allreduce"
workload = "allreduce"
size = "4007"

[[case]]
name = "field_io"
workload = "field_io"
size = "(203,307)"

[[case]]
name = "shared"
workload = "parallel_decoder"
type = "f32"
model = ["gpt", "llama"]
phase = "prefill"
joint = ["allreduce", "reduce_scatter"]
pieces = 2
size = "(2,17,768,12,6,96)"
"""
SHARED = [f"shared.{case}" for case in range(1, 5)]
EXCHANGES = """
[[case]]
name = "broadcast"
workload = "broadcast"
size = "4007"

[[case]]
name = "alltoall"
workload = "alltoall"
size = "4007"

[[case]]
name = "sendrecv"
workload = "sendrecv"
size = "4007"

[[case]]
name = "pairs"
workload = "pairs"
size = "4007"
"""


def other_workloads(folder, ranks):
    def read(name, *fields):
        with h5py.File(folder / f"{name}.h5") as file:
            return [file[field][...] for field in fields]

    def equal(name, one, other):
        check(one.size > 0 and numpy.array_equal(one, other), f"{name}: {one.shape} {other.shape} differ")

    x, y, out = read("vector", "x", "y", "out")
    equal("vector", out, x + y)
    equal("copy", *read("copy", "from", "to"))
    check(read("memory", "result")[0].size > 1 and read("api", "marks")[0].size > 1, "memory, api: nothing is saved")
    check(bool((read("pipeline", "integrals")[0] > 0).all()), "pipeline: the integrals of all intervals")
    before, after = read("transpose", "in", "out")
    check(before.shape == (133, 257), f"transpose: {before.shape}")
    equal("transpose", after, before.T)
    x, y, total = read("reduction", "x", "y", "total")
    check(x.shape == (100003,) and abs(float(total[0]) - float(x @ y)) < 1e-9 * float(abs(x) @ abs(y)), "reduction")
    x, total = read("streamed", "x", "total")
    check(x.shape == (100003,) and abs(float(total[0]) - float(x.sum())) < 1e-9 * float(abs(x).sum()), "streamed")
    a, b, c = read("gemm", "A", "B", "C")
    check(bool((abs(c - a @ b) < 1e-12 * (abs(a) @ abs(b))).all()), "gemm: C is not A B")
    x, out = read("allreduce", "in", "out")
    check(x.shape == (ranks, 4007) and bool((abs(out - x.sum(0)) < 1e-12 * abs(x).sum(0)).all()), "allreduce")
    check(read("field_io", "A")[0].shape == (203, 307), "field_io")
    if ranks == 1:
        return
    x, out = read("broadcast", "in", "out")
    equal("broadcast", out, x[0])
    equal("alltoall", *read("alltoall", "in", "out"))
    x, out = read("sendrecv", "in", "out")
    equal("sendrecv", out, numpy.roll(x, 1, 0))
    # For each receiver the message lies elsewhere in the sender's row.
    x, out = read("pairs", "in", "large")
    senders = [(to, of) for to in range(ranks) for of in range(ranks) if of != to]
    equal("pairs", out, numpy.array([x[of, 32 * to:32 * to + 4007] for to, of in senders]))


def hidden_of(directory):
    """What the shared models make of their tokens."""
    values = []
    for name in SHARED:
        with h5py.File(directory / "fields" / f"{name}.h5") as fields:
            values.append(fields["hidden"][...])
    return values


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    source = program.input(INPUT + (EXCHANGES if ranks > 1 else ""))
    process, _, directory = program.run(source, ranks=ranks)
    check(process.returncode == 0, "the run must pass", process)

    # A model does not depend on how many ranks share it.
    process, _, alone = program.run(source, "--only", ",".join(SHARED), ranks=1)
    check(process.returncode == 0, "one rank must pass", process)
    for one, many in zip(hidden_of(alone), hidden_of(directory)):
        check(one.shape == (34, 768) and len(numpy.unique(one)) > one.size / 2, f"hidden: {one.shape}")
        check(float(abs(one - many).max()) < 1e-4, f"hidden of {ranks} ranks differs by {abs(one - many).max()}")

    for name, shape in (("product", (233, 211, 307)), ("cyclic", (150, 160, 170))):
        m, n, k = shape
        with h5py.File(directory / "fields" / f"{name}.h5") as fields:
            a, b, c = (fields[x][...] for x in "ABC")
        check(a.shape == (m, k) and b.shape == (k, n) and c.shape == (m, n), f"{name}: shapes {a.shape} {b.shape} {c.shape}")
        check(len(numpy.unique(a)) > a.size / 2, f"{name}: A is not random")
        exact = a.astype("f8") @ b.astype("f8")
        weight = abs(a).astype("f8") @ abs(b).astype("f8")
        bound = numpy.finfo(c.dtype).eps * (math.sqrt(k) + 2) * weight
        check(bool((abs(c - exact) <= bound).all()), f"{name}: C differs from A @ B by more than the bound")

    with h5py.File(directory / "fields" / "turned.h5") as fields:
        a, b = fields["A"][...], fields["B"][...]
    check(a.shape == (233, 307) and numpy.array_equal(a.T, b), "turned: B is not A^T")
    with h5py.File(directory / "fields" / "narrow.h5") as fields:
        narrow, transposed = fields["A"][...], fields["B"][...]
    check(narrow.dtype == numpy.float16 and numpy.array_equal(narrow.T, transposed), "narrow: B is not A^T")
    check(numpy.array_equal(narrow, a.astype("f2")), "narrow: A is not that of f32, rounded")

    with h5py.File(directory / "fields" / "waves.h5") as fields:
        integral = float(fields["integral"][0])
    check(abs(integral / (10000 * math.pi) - 1) < 1e-9, f"waves: {integral} instead of 10000 pi")
    other_workloads(directory / "fields", ranks)
    print("what all workloads saved agrees with numpy")


main()
