# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Every command and snippet of README.md and of those in folders runs, in a folder like the repository.

There the build steps of scripts and Slurm only pretend, and the quickstart is the small input of the
tests. The command that runs the tests is not run: this is one of them.

readme_test.py BINARY LAUNCHER...
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

ROOT = TESTS.parent
OF_KERNELS = sorted((ROOT / "kernels").rglob("README.md"))
READMES = [ROOT / "README.md", *(ROOT / name / "README.md" for name in ("src", "inputs", "jobs", "tests")), *OF_KERNELS]
# Exit codes that a command promises where it finds what is here: compare of unlike or short runs, a machine
# of one node or a busy one, no profiler.
ALLOWED = {"build/quadrille compare": (0, 8, 9), "mpirun -n 2 build/quadrille check": (0, 6, 9), "bash jobs/profile.sh": (0, 77)}


def snippets(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def main():
    program = Program(sys.argv[1:])
    folder = program.folder / "repository"
    (folder / "build").mkdir(parents=True)
    for name in ("tests", "src", "LICENSE", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("inputs", "jobs"):  # scripts find the repository beside themselves
        shutil.copytree(ROOT / name, folder / name)
    for path in OF_KERNELS:
        (folder / path.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(path, folder / path.relative_to(ROOT))
    (folder / "build" / "quadrille").symlink_to(pathlib.Path(program.binary).resolve())
    small = (TESTS / "workloads" / "small.toml").read_text()
    (folder / "inputs" / "quickstart.toml").write_text(small)

    tools = folder / "tools"
    tools.mkdir()
    for tool in ("cmake", "sbatch", "qsub", "flux"):
        (tools / tool).write_text(f'#!/bin/bash\necho {tool} "$@" >>"{folder}/pretended"\n')
        (tools / tool).chmod(0o755)
    (folder / "jobs" / "setup.sh").write_text("")
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_MCA_hwloc_base_binding_policy": "none"}

    def call(command):
        begin = time.monotonic()
        process = subprocess.run(["bash", "-c", command], text=True, capture_output=True, cwd=folder, env=environment,
                                 timeout=300)
        print(f"{time.monotonic() - begin:5.1f} s  {command}", flush=True)
        codes = next((codes for start, codes in ALLOWED.items() if command.startswith(start)), (0,))
        check(process.returncode in codes, f"`{command}` of a README", process)
        return process

    for run, ranks in (("A", 1), ("B", 1), ("RUN-1", 1), ("RUN-2", 2), ("RUN", 1)):
        call(f"mpirun -n {ranks} build/quadrille run inputs/quickstart.toml --only vector,summa,gemm --run-id {run} "
             "--set run.device=host --set vector.variant=all --set summa.variant=all --set gemm.variant=all "
             "--set summa.legs=true")

    commands = []
    for text in READMES:
        for snippet in snippets(text, "bash"):
            # Lines that end in a backslash go on.
            commands += [line.split(" # ")[0].strip() for line in snippet.replace("\\\n", " ").splitlines() if line.strip()]
    check(len(commands) > 15, f"commands are {commands}")
    for command in commands:
        if not command.startswith("bash tests/run.sh"):
            call(command)
    check("sbatch jobs/single-node.sbatch" in (folder / "pretended").read_text(), "the job script is submitted")
    gemm = (folder / "kernels" / "gemm" / "README.md").read_text()
    ladder = gemm[gemm.index("<!-- gains"):gemm.index("<!-- end of gains -->")]
    check("| `host_simd` |" in ladder and "commit" in ladder, f"the ladder is {ladder}")
    report = json.loads(call("build/quadrille report --json results/RUN").stdout)
    rates = {case["variant"]: case["rate"] for case in report["cases"] if case["id"].startswith("gemm:")}
    rungs = re.findall(r"^\| `(\w+)` \|[^|]+\|[^|]+\| ([\d.-]+)(?: \(`\w+`\))? \|",
                       ladder[ladder.index("\ngemm: "):].split("\n\n", 2)[1], re.MULTILINE)
    check(len(rungs) == 2 and rungs[0][1] == "-" and "reference" not in dict(rungs), f"the rungs are {rungs}")
    for number, (rung, gain) in enumerate(rungs[1:], 1):
        best = max(rates[above] for above, _ in rungs[:number])
        check(abs(float(gain) - rates[rung] / best) < 0.006, f"{rung} gains {gain} in {ladder}")
    others = re.compile("^<!-- gains: inputs.sgemm.*?^<!-- end", re.M | re.S)
    check(others.sub("", gemm) == others.sub("", (ROOT / "kernels" / "gemm" / "README.md").read_text()), "the rest stays")

    call("build/quadrille run inputs/quickstart.toml --only peak --run-id no-ladder --set run.device=host")
    process = subprocess.run(["build/quadrille", "report", "--ladder", "results/no-ladder"], text=True,
                             capture_output=True, cwd=folder)
    check(process.returncode == 8 and not process.stdout and "two techniques" in process.stderr, "no ladder", process)

    for name, snippet in enumerate(snippets(ROOT / "inputs" / "README.md", "toml")):
        (folder / f"{name}.toml").write_text(snippet)
        call(f"build/quadrille run {name}.toml --dry-run --set run.device=host")
    python = snippets(ROOT / "README.md", "python")
    check(len(python) == 1, "README.md reads a result by Python")
    try:
        import h5py  # noqa: F401
    except ImportError as missing:
        print(f"without the snippet in Python: {missing}")
    else:
        process = subprocess.run([sys.executable, "-c", python[0]], text=True, capture_output=True, cwd=folder)
        check(process.returncode == 0 and "summa" in process.stdout and "PASS" in process.stdout, "Python", process)
    print(f"{len(commands)} commands run")


main()
