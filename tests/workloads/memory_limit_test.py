# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""In a control group of 1,500 MiB, sizes of auto:70% pass, and no rank takes more than its arrays and 64 MiB.

memory_limit_test.py WORKLOAD[:SIZE]+... BINARY LAUNCHER...    SIZE other than auto:70%
"""
import json
import os
import pathlib
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from control_group import control_group, enter  # noqa: E402
from quadrille import Program, check  # noqa: E402

MIB = 1 << 20
LIMIT = 1500 * MIB
RANKS = 2
# Arrays of a rank at its extents, in elements.
CASES = {
    "gemm": lambda m, n, k: m * n + m * k + n * k,
    "transpose": lambda m, n, _: 2 * m * n,
    "reduction": lambda n, *_: n // RANKS + 1,
    "summa": lambda n, *_: 3 * n * ((n + 1) // 2) + 2 * 256 * (n + (n + 1) // 2),
}


def measured_rank():
    """This process stands between the launcher and a rank, and notes the most memory that the rank had."""
    folder, *command = sys.argv[2:]
    code = subprocess.run(command, check=False).returncode
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    pathlib.Path(folder, f"{os.getpid()}.rss").write_text(str(most))
    raise SystemExit(code)


def run(program, group, workload, size):
    """Returns the report's case and the most memory of a rank."""
    run_id = f"{workload}-of-{RANKS}" if group else "least"
    command = [*program.launcher, "-n", str(RANKS), sys.executable, __file__, "--measured", program.folder, program.binary,
               "run", "--case", workload, "--run-id", run_id]
    # By ipc a rank maps what its peers have, which would count twice.
    settings = {"run.output": program.folder, "run.device": "host", "run.transport": "mpi", "size": size, "repetitions": 1,
                "vendor": "off", "warmup": "{ count = 0, seconds = 0 }"}
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    process = subprocess.run([str(part) for part in command], text=True, capture_output=True, timeout=200,
                             preexec_fn=lambda: enter(group))
    check(process.returncode == 0 and "RESULT PASS" in process.stdout, f"{workload} at {size} must pass", process)
    shown = program.call("report", "--json", program.folder / run_id, ranks=0)
    sizes = json.loads(shown.stdout)["cases"][0]["size"]
    most = 0
    for noted in program.folder.glob("*.rss"):
        most = max(most, int(noted.read_text()))
        noted.unlink()
    return (sizes * 3)[:3] if len(sizes) == 1 else [*sizes, 0][:3], most


def main():
    asked = [case.partition(":")[::2] for case in sys.argv[1].split("+")]
    program = Program(sys.argv[2:])
    with control_group("memory", {"memory.limit_in_bytes": LIMIT}, {"memory.max": LIMIT}) as group:
        if group is None:
            print("no control group for memory can be made here")
            raise SystemExit(77)
        _, least = run(program, None, "gemm", "64")
        for workload, size in asked:
            sizes, most = run(program, group, workload, size or "auto:70%")
            arrays = 8 * CASES[workload](*sizes)
            beside = most - arrays - least
            print(f"{workload} {sizes}: {arrays / MIB:.0f} MiB of arrays, {beside / MIB:.1f} MiB beside")
            check(arrays > LIMIT / 10, f"{workload}: {sizes} is little of the memory")
            check(beside < 64 * MIB, f"{workload}: {beside / MIB:.1f} MiB beside arrays of {arrays / MIB:.1f} MiB")


if sys.argv[1] == "--measured":
    measured_rank()
main()
