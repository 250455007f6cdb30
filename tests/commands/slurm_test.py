# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""The job script of `quadrille slurm` is a correct script that starts what was asked for; this one and those of
jobs/ end with the run's exit code, and never with 0 or 1 where no run has ended.

An srun that shows its command, and a module that shows its names, stand for a cluster; tests/slurm
submits such a script to a real Slurm.

slurm_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402


def options_of(script):
    """What sbatch reads: lines up to the first command."""
    found = {}
    for line in script.splitlines():
        if line.startswith("#SBATCH --"):
            name, _, value = line[len("#SBATCH --"):].partition("=")
            found[name] = value
        elif line and not line.startswith("#"):
            return found
    return found


def main():
    program = Program(sys.argv[1:])
    tools = program.folder / "bin"
    tools.mkdir()
    for tool in ("srun", "apptainer", "mpirun"):
        # A stand-in that may fail as launchers do, with or without a result.
        (tools / tool).write_text(f'#!/bin/bash\nprintf "[%s] " {tool} "$@"\n'
                                  'echo; echo "${LAST_LINE-RESULT PASS}"; exit "${STATUS:-0}"\n')
        (tools / tool).chmod(0o755)
    (tools / "cmake").symlink_to(shutil.which("true"))
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_CPUS_ON_NODE": "13",
                   "SLURM_CPUS_PER_TASK": "8", "SLURM_SUBMIT_DIR": str(TESTS.parent)}

    def script(*words):
        shown = program.call("slurm", *words, ranks=0)
        check(shown.returncode == 0, f"slurm {words}", shown)
        if shutil.which("shellcheck"):
            # A login shell's module command is not known to it.
            judged = subprocess.run(["shellcheck", "-"], input=shown.stdout, text=True, capture_output=True)
            check(judged.returncode == 0, f"shellcheck of slurm {words}", judged)
        return shown.stdout

    def code(script, last_line, status):
        """Of the script whose launcher ends so."""
        process = subprocess.run(["bash", script], text=True, capture_output=True, timeout=60,
                                 env={**environment, "LAST_LINE": last_line, "STATUS": str(status)})
        is_launchers = status <= 1 and not last_line.startswith("RESULT")
        check(("no RESULT line" in process.stderr) == is_launchers, "the reason", process)
        return process.returncode

    def started(text):
        process = subprocess.run(["bash"], input="module() { echo module \"$@\"; }\n" + text, text=True,
                                 capture_output=True, env=environment, timeout=60)
        check(process.returncode == 0, "the script runs", process)
        return process.stdout

    text = script("--nodes", 3, "--gpus-per-node", 4, "--partition", "gpu", "--account", "p-1", "--time", "90min",
                  "--constraint", "h100&nvme")
    options = options_of(text)
    wanted = {"nodes": "3", "ntasks-per-node": "4", "gpus-per-node": "4", "partition": "gpu", "account": "p-1",
              "time": "01:30:00", "exclusive": "", "mem": "0", "constraint": "h100&nvme", "signal": "USR1@120", "job-name": "quadrille",
              "output": "%x-%j.out"}
    check(options == wanted, f"options are {options}")
    out = started(text)
    for words in ("[--mpi=pmix]", "[--cpus-per-task=3]", "[--gpu-bind=none]", "[--kill-on-bad-exit=1]",
                  f"[{program.binary}] [run] [{TESTS.parent}/inputs/quickstart.toml]"):
        check(words in out, f"{words} is missing in {out}")

    # workstation.sh sets up and builds where it stands.
    copy = program.folder / "jobs"
    copy.mkdir()
    (copy / "setup.sh").touch()
    (copy / "printed.sh").write_text(text)
    (program.folder / "inputs").mkdir()
    (program.folder / "inputs" / "quickstart.toml").touch()
    jobs = TESTS.parent / "jobs"
    shutil.copy(jobs / "workstation.sh", copy)
    for script_file in (copy / "printed.sh", copy / "workstation.sh", jobs / "single-node.sbatch",
                        jobs / "multi-node.sbatch"):
        for last_line, status, wanted in (("RESULT PASS", 0, 0), ("RESULT FAIL", 1, 1), ("RESULT FAIL", 7, 7),
                                          ("launcher: error", 1, 4), ("", 0, 4), ("", 143, 143)):
            got = code(script_file, last_line, status)
            check(got == wanted, f"{script_file.name}: {last_line}, {status}: {got}")

    own = program.folder / "my input.toml"
    own.touch()
    text = script(os.path.relpath(own), "--ranks-per-node", 2, "--cpus-per-rank", 5, "--module", "cuda/12,openmpi", "--set",
                  "gemm.config=mma_tuned SLOTS=3", "--program", "/opt/it's here/quadrille", "--mpi", "pmi2")
    out = started(text)
    check("module load cuda/12 openmpi" in out and text.startswith("#!/bin/bash -l\n"), f"modules: {text}")
    for words in ("[--cpus-per-task=5]", "[--mpi=pmi2]",
                  f"[/opt/it's here/quadrille] [run] [{own}] [--set] [gemm.config=mma_tuned SLOTS=3]"):
        check(words in out, f"{words} is missing in {out}")
    check("gpu" not in out and options_of(text)["cpus-per-task"] == "5", f"no GPUs: {text}")

    out = started(script("--gpus-per-node", 1, "--container", "q.sif"))
    check("[apptainer] [exec] [--nv]" in out and "[q.sif] [quadrille] [run]" in out, f"apptainer: {out}")
    out = started(script("--gpus-per-node", 1, "--container", "a b.sqsh", "--container-runtime", "pyxis"))
    check("[--container-image=a b.sqsh]" in out and "apptainer" not in out, f"pyxis: {out}")

    for given, shown, signal in (("30", "00:30:00", 120), ("5:30", "00:05:30", 82), ("2:00:00", "02:00:00", 120),
                                 ("1-2", "1-02:00:00", 120), ("1-2:30", "1-02:30:00", 120), ("2h", "02:00:00", 120),
                                 ("3-00:00:01", "3-00:00:01", 120), ("1min", "00:01:00", 15)):
        options = options_of(script("--gpus-per-node", 1, "--time", given))
        check((options["time"], options["signal"]) == (shown, f"USR1@{signal}"), f"--time {given} gives {options}")

    for words, wanted in (((), "--gpus-per-node 4"), (("--gpus-per-node", 1, "--time", "1:2:3:4"), "no time"),
                          (("--gpus-per-node", 1, "--time", "0"), "more than 0"),
                          (("--gpus-per-node", 1, "--time", "1-2h"), "no time"),
                          (("--gpus-per-node", 1, "--partition", "a b"), "--partition 'a b'"),
                          (("--gpus-per-node", 1, "--partition", "a\n#SBATCH --nodes=9"), "--partition"),
                          (("in\nput", "--gpus-per-node", 1), "is no file"),
                          (("nosuch.toml", "--gpus-per-node", 1), "is no file"),
                          (("--container", "a\nb", "--gpus-per-node", 1), "line break"),
                          (("--constraint", "a b", "--gpus-per-node", 1), "--constraint 'a b'"),
                          (("--gpus-per-node", 2, "--ranks-per-node", 4), "run.allow_shared_gpu=true"),
                          (("--gpus-per-node", 1, "--container-runtime", "pyxis"), "--container"),
                          (("--gpus-per-node", 1, "--container", "a", "--container-runtime", "docker"), "docker"),
                          (("--nodes", 0), "--nodes")):
        process = program.call("slurm", *words, ranks=0)
        check(process.returncode == 2 and wanted in process.stderr and not process.stdout, f"slurm {words}", process)
    script("--gpus-per-node", 2, "--ranks-per-node", 4, "--set", "run.allow_shared_gpu=true")
    print("job scripts start what was asked for")


main()
