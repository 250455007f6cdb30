# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels get the threads they ask for whatever OpenMP's variables say, and doctor and runs see what ranks lack. Where
libraries' threads cannot even start, the program says so and ends.

threads_test.py BINARY LAUNCHER...
"""
import itertools
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from control_group import control_group, enter  # noqa: E402
from quadrille import Program, check  # noqa: E402

# Each left kernels without threads, the process without cores, or no memory for stacks.
VARIABLES = ("OMP_THREAD_LIMIT=1", "OMP_DYNAMIC=true", "OMP_MAX_ACTIVE_LEVELS=0", "OMP_PROC_BIND=close", "OMP_PROC_BIND=spread",
             "OMP_PLACES={0}", "GOMP_CPU_AFFINITY=0", "OMP_STACKSIZE=900G", "GOMP_STACKSIZE=900000000")


def doctor(program, ranks, prefix=(), **kwargs):
    """Row "threads" and the ranks of what doctor says."""
    process = subprocess.run([*prefix, *program.command("doctor", "--json", ranks=ranks)], text=True, capture_output=True,
                             timeout=120, **kwargs)
    check(process.returncode == 0, "doctor", process)
    document = json.loads(process.stdout)
    rows = {row["name"]: row for row in document["rows"]}
    return rows["threads"], document["ranks"], rows


def few_processes(program):
    """From one process or thread on until it works, the program ends in time and says why it cannot go on."""
    if os.geteuid() != 0:
        print("only root can become a user that has no processes")
        return
    cpus = sorted(os.sched_getaffinity(0))[:2]  # each takes a thread of every library
    program.folder.chmod(0o755)

    def call(limit, *arguments):
        user = 61000 + limit  # not that of the call before, which may not have ended wholly
        home = program.folder / f"user{limit}"
        home.mkdir()
        os.chown(home, user, user)

        def become_user():
            os.sched_setaffinity(0, cpus)
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))

        return program.call(*arguments, ranks=0, timeout=60, preexec_fn=become_user, cwd=home,
                            env={**os.environ, "TMPDIR": str(home), "XDG_CACHE_HOME": str(home)})

    if call(1000, "--version").returncode != 0:
        print("another user cannot start this program")
        return
    # With less than one for each of the two CPUs the constructor of OpenBLAS ends the process.
    for limit in itertools.count(2):
        process = call(limit, "run", "--case", "vector", "--set", "size=1Ki", "--set", "run.device=host", "--set",
                       "run.repetitions=2", "--set", "vendor=off")
        if process.returncode == 0:
            break
        said = [line for line in process.stderr.splitlines() if line.startswith("FATAL ")]
        check(process.returncode == 3 and len(said) == 1 and "ulimit -u" in said[0], f"{limit} processes", process)
    check(limit > 5, f"{limit} processes and threads were no limit", process)


def main():
    program = Program(sys.argv[1:])
    sound, ranks, rows = doctor(program, 1)
    check(sound["status"] == "ok" and "openmp" not in rows, f"{sound}")
    threads = ranks[0]["threads"]

    for variable in VARIABLES:
        name, value = variable.split("=")
        environment = {**os.environ, name: value}
        row, found, rows = doctor(program, 1, env=environment)
        check(found[0]["threads"] == threads and row["status"] == "ok", f"{variable}: {found}")
        check(variable in rows["openmp"]["text"], f"{variable} is not named: {rows}")
        # A product by all threads, each of which writes a part.
        ran = program.call("run", "--case", "gemm", "--set", "size=256", "--set", "variant=kokkos", "--set", "vendor=off",
                           "--set", "run.device=host", "--set", f"run.output={program.folder}", env=environment)
        check(ran.returncode == 0 and "RESULT PASS" in ran.stdout, variable, ran)

    if (os.cpu_count() or 1) > 1:
        row, found, _ = doctor(program, 2, prefix=("taskset", "-c", "0"))
        check(row["status"] == "WARN" and row["remedy"], f"two ranks on a core: {row}")
        check([rank["cores"] for rank in found] == [0.5, 0.5], f"{found}")
        ran = subprocess.run(["taskset", "-c", "0", *program.command(
            "run", "--case", "vector", "--set", "size=4Ki", "--set", "repetitions=20", "--set", "suspect=0.001%",
            "--set", "run.device=host", "--set", f"run.output={program.folder}", ranks=2)],
            text=True, capture_output=True, timeout=120)
        check(re.search(r"since\s+rank\s+0\s+has\s+0.5\s+cores", ran.stdout), "why times vary", ran)
    with control_group("cpu", {"cpu.cfs_quota_us": 50000}, {"cpu.max": "50000 100000"}) as group:
        if group is None:
            print("no control group for CPUs can be made here")
        else:
            row, found, _ = doctor(program, 2, preexec_fn=lambda: enter(group))
            check(row["status"] == "WARN" and row["remedy"], f"half a CPU: {row}")
            check([rank["cpu_quota"] for rank in found] == [0.25, 0.25], f"{found}")
            check([rank["threads"] for rank in found] == [1, 1], f"{found}")
    print("kernels get their threads, and doctor says what ranks lack")

    limit = 300000 * 1024  # as ulimit -v
    process = subprocess.run(program.command("--version", ranks=0), text=True, capture_output=True, timeout=60,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    # AddressSanitizer maps more itself, and ends the process.
    if "Sanitizer" not in process.stderr:
        check(process.returncode == 3 and process.stderr.count("\n") == 1 and "ulimit -v" in process.stderr,
              "too little memory for libraries", process)
        few_processes(program)


main()
