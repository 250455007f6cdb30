# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever a rank does wrong, in whatever phase: one line says so, the job ends soon and with the code promised.

phase_fault_test.py few|all PHASE_FAULT_PROGRAM LAUNCHER...

"few" tries each phase and each fault once on 2 ranks, "all" every pair on 2 and 4; those in which ranks wait for each
other's messages by both transports. Prints a table.
"""
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import check  # noqa: E402

INPUT = """
[run]
device = "host"
vendor = "off"
warmup = { count = 1, seconds = 0 }
repetitions = 2

[[case]]
workload = "summa"
size = "40"
variant = "host_simd"
save = true
"""
# The end of each phase's name, the key of its limit, and whether kernels run in it.
PHASES = {"start": ("init", False), "read the configuration": ("init", False), "open the device": ("init", False),
          "measure transports": ("init", False), "open the result": ("init", False), "prepare": ("prepare", False), "first run": ("repetition", True), "check": ("check", False),
          "warm up": ("repetition", True), "time": ("repetition", True), "save": ("write", False),
          "collect": ("write", False), "write the result": ("write", False), "end": ("init", False)}
# Exit codes and lines of ours. Of a rank that is killed the launcher tells.
FAULTS = {"killed": (128 + signal.SIGKILL, None), "stopped": (5, "no end after"), "throws": (4, "uncaught exception"),
          "absent": (5, "no end after"), "spins": (5, "no end after"), "signalled": (7, None)}
# From here on a run ends by itself.
FINISHED = ("write the result", "end")
LIMIT = 4
GRACE = 1
AT_ONCE = 4


def fault_in(program, launcher, folder, phase, fault, ranks, transport):
    key, _ = PHASES[phase]
    code, words = FAULTS[fault]
    if phase == "start" and fault in ("throws", "signalled"):
        return None  # before main there is nobody to throw
    if phase in FINISHED and fault == "signalled":
        code = 0
    if phase == "measure transports":
        transport = "auto"  # nobody measures for one that is named
    output = pathlib.Path(tempfile.mkdtemp(dir=folder))
    begin = time.monotonic()
    command = [*launcher, "-n", str(ranks), program, phase, fault, folder / "input.toml", f"run.output={output}",
               f"run.timeout.{key}={LIMIT}s", f"run.timeout.grace={GRACE}s", f"run.transport={transport}"]
    where = f"{fault} in '{phase}' on {ranks} ranks by {transport}"
    try:
        process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100,
                                 env={**os.environ, "TMPDIR": str(output)})
    except subprocess.TimeoutExpired:
        check(False, f"{where}: no end after 100 s")
    seconds = time.monotonic() - begin
    check(re.search(rf"^in .*{phase}$", process.stderr, re.M), f"{where}: the fault did not happen", process)
    check(process.returncode == code, f"{where}: exit code {process.returncode}, expected {code}", process)
    lines = re.findall("^FATAL .*", process.stderr, re.M)
    # A peer may miss one that was killed before the launcher does.
    fits = len(lines) <= 1 if fault == "killed" else len(lines) == (words is not None)
    check(fits, f"{where}: {len(lines)} FATAL lines", process)
    check(words is None or words in lines[0], f"{where}: no '{words}' in {lines}", process)
    check(fault != "throws" or f"{phase}':" in lines[0], f"{where}: another phase in {lines}", process)
    left = [path.name for path in output.glob("quadrille-failed-*")]
    check(not left, f"{where}: {left} stay in TMPDIR", process)
    tables = len(re.findall("^RESULT .*executed=", process.stdout, re.M))
    check(tables <= 1, f"{where}: {tables} tables", process)
    limit = (LIMIT + GRACE) * (words == "no end after")
    check(seconds < limit + 10, f"{where}: ended after {seconds:.1f} s", process)
    return f"{phase:24}{fault:10}{ranks:5} {transport:9}{process.returncode:6}{seconds:7.1f} s"


def check_refused_first(program, launcher, folder):
    """A run that has nowhere to write is refused before anything is measured."""
    command = [*launcher, "-n", "2", program, "measure transports", "killed", folder / "input.toml",
               f"run.output={folder / 'input.toml'}", "run.transport=auto"]
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100)
    check(process.returncode == 3 and "cannot write to" in process.stderr and "in measure" not in process.stderr,
          "refused before transports are measured", process)


def main():
    how_many, program, *launcher = sys.argv[1:]
    pairs = [(phase, fault) for phase, fault in itertools.product(PHASES, FAULTS)
             if fault != "spins" or PHASES[phase][1]]
    tries = [(phase, fault, ranks) for ranks in (2, 4) for phase, fault in pairs]
    if how_many == "few":
        # At the start the limit must hold that the command line gives, for the file is not read yet.
        by_phase = {**dict(zip(PHASES, itertools.cycle(FAULTS))), "start": "stopped"}
        tries = [(phase, fault if (phase, fault) in pairs else "stopped", 2) for phase, fault in by_phase.items()]
        tries += [(phase, "signalled", 2) for phase in PHASES]
    tries = [(*one, transport) for one in tries for transport in ("mpi", "ipc")
             if transport == "mpi" or PHASES[one[0]][1]]
    with tempfile.TemporaryDirectory(prefix="quadrille-test-") as name:
        folder = pathlib.Path(name)
        (folder / "input.toml").write_text(INPUT)

        def judge(one):
            try:
                return fault_in(program, launcher, folder, *one)
            except SystemExit:
                return f"{one}: WRONG"

        with ThreadPoolExecutor(AT_ONCE) as pool:
            lines = [line for line in pool.map(judge, tries) if line]
        check_refused_first(program, launcher, folder)
    print(f"{'phase':24}{'fault':10}{'ranks':>5} {'transport':9}{'code':>6}{'took':>9}", *lines, sep="\n")
    check(not any("WRONG" in line for line in lines), "not all ended as they must")


main()
