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
"""


def main():
    ranks = int(sys.argv[1])
    program = Program(sys.argv[2:])
    source = program.folder / "input.toml"
    source.write_text(INPUT)
    process, _, directory = program.run(source, ranks=ranks)
    check(process.returncode == 0, "the run must pass", process)

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
    print("a product, a transpose and an integral agree with numpy")


main()
