# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A node that dies or hangs during `quadrille check` is BROKEN with its phase, and the other gets its verdict.

lost_node_test.py PHASE_FAULT_PROGRAM LAUNCHER...    the last rank, which is the second node, is the culprit
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import check  # noqa: E402

LIMIT = 40
SMALL = {"memory_copy": "16Ki", "memory_add": "16Ki", "gemm_f64": "64", "gemm_f32": "64", "network_bandwidth": "4Ki"}


def main():
    program, *launcher = sys.argv[1:]

    def verdicts(phase, fault, *options):
        """Those of both nodes, what is said of the second, and the readings of the first."""
        with tempfile.TemporaryDirectory(prefix="quadrille-test-") as folder:
            process = subprocess.run(
                [*launcher, *options, "-n", "2", program, phase, fault, "check", "--quick", "--json", "--limit", str(LIMIT),
                 "--set", "run.device=host", "--set", "run.fake_nodes=2", "--set", "run.repetitions=3",
                 "--set", f"run.output={folder}", "--without", "peers",
                 *(word for name, size in SMALL.items() for word in ("--set", f"{name}.size_host={size}"))],
                text=True, capture_output=True, timeout=10 * LIMIT)
        check(f"in {phase}" in process.stderr or phase in process.stderr, f"{fault}: {phase} was not entered", process)
        check(process.stdout.startswith("{"), f"{fault} in {phase}: no verdicts", process)
        shown = json.loads(process.stdout)
        first, second = shown["subjects"]
        return process, (first["verdict"], second["verdict"]), second["reason"] or "", first["readings"]

    # Of a rank that is killed the launcher would end the others; with recovery it does not.
    for fault, why, *options in (("killed", "no answer since phase 'gemm_f64'", "--enable-recovery"),
                                 ("stopped", "no answer since phase 'gemm_f64'"),
                                 ("throws", "phase 'gemm_f64: prepare': uncaught exception"),
                                 ("absent", "phase 'gemm_f64: prepare': no end after")):
        process, found, reason, readings = verdicts("gemm_f64: prepare", fault, *options)
        check(found == ("UNKNOWN", "BROKEN"), f"{fault}: {found}", process)
        check(why in reason, f"{fault}: {reason}", process)
        check(process.returncode == 1 or options, f"{fault}: exit code", process)  # with recovery mpirun's is 0
        check(readings["gemm_f32"]["value"] > 0, f"{fault}: the other node has measured what follows", process)
    # Its partner notices, and is not blamed.
    process, found, reason, readings = verdicts("(fake 0)", "stopped")
    check(found == ("UNKNOWN", "BROKEN") and "pair with" in reason, f"in a pair: {found}, {reason}", process)
    check(readings["network_latency"]["missing"], "the pair has not ended", process)


if __name__ == "__main__":
    main()
