# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""The job scripts of `quadrille slurm`, `pbs` and `flux` are correct scripts that start what was asked for; these and
those of jobs/ end with the run's exit code, and never with 0 or 1 where no run has ended.

An srun, a flux and an mpirun that show their commands, and a module that shows its names, stand for a cluster; tests/slurm
submits such a script to a real Slurm.

slurm_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402


def options_of(script, directive="#SBATCH --", separator="="):
    """What the batch system reads: lines up to the first command."""
    found = {}
    for line in script.splitlines():
        if line.startswith(directive):
            name, _, value = line[len(directive):].partition(separator)
            found[name] = value
        elif line and not line.startswith("#"):
            return found
    return found


# The last line and the status of a launcher, and how a script then ends.
ENDS = (("RESULT PASS", 0, 0), ("RESULT FAIL", 1, 1), ("RESULT FAIL", 7, 7), ("launcher: error", 1, 4), ("", 0, 4),
        ("", 143, 143))


def main():
    program = Program(sys.argv[1:])
    tools = program.folder / "bin"
    tools.mkdir()
    for tool in ("srun", "apptainer", "mpirun", "flux"):
        # A stand-in that may fail as launchers do, with or without a result.
        (tools / tool).write_text(f'#!/bin/bash\nprintf "[%s] " {tool} "$@"\n'
                                  'echo; echo "${LAST_LINE-RESULT PASS}"; exit "${STATUS:-0}"\n')
        (tools / tool).chmod(0o755)
    (tools / "cmake").symlink_to(shutil.which("true"))
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_CPUS_ON_NODE": "13",
                   "SLURM_CPUS_PER_TASK": "8", "SLURM_SUBMIT_DIR": str(TESTS.parent)}

    def script(*words, scheduler="slurm"):
        shown = program.call(scheduler, *words, ranks=0)
        check(shown.returncode == 0, f"{scheduler} {words}", shown)
        if shutil.which("shellcheck"):
            # A login shell's module command is not known to it.
            judged = subprocess.run(["shellcheck", "-"], input=shown.stdout, text=True, capture_output=True)
            check(judged.returncode == 0, f"shellcheck of {scheduler} {words}", judged)
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
        for last_line, status, wanted in ENDS:
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

    text = script("--ranks-per-node", 2, "--cpus-per-rank", 8, "--hint", "nomultithread")
    check(options_of(text)["hint"] == "nomultithread" and "--cpu-bind" not in text, f"Slurm takes a hint or a binding: {text}")

    text = script("--nodes", 2, "--gpus-per-node", 4, "--cpus-per-rank", 8, "--queue", "gpu", "--account", "p-1", "--time",
                  "26h", "--constraint", "gpu_model=h100", scheduler="pbs")
    options = options_of(text, "#PBS -", " ")
    wanted = {"N": "quadrille", "j": "oe", "q": "gpu", "A": "p-1", "l": "walltime=26:00:00"}
    check(options == wanted, f"options of PBS are {options}")
    for line in ("#PBS -l select=2:ncpus=32:mpiprocs=4:ngpus=4:gpu_model=h100", "#PBS -l place=scatter:exclhost"):
        check(line in text.splitlines(), f"{line} is missing in {text}")
    # The program's own mpirun would start the program.
    text = re.sub(r"\S*/mpi(run|exec) ", "mpirun ", text)
    environment |= {"PBS_O_WORKDIR": str(program.folder), "PBS_NODEFILE": "nodes of the job"}
    out = started(text)
    for words in ("[--hostfile] [nodes of the job] [-n] [8] [--map-by] [ppr:4:node] [--bind-to] [none]",
                  f"[{program.binary}] [run] [{TESTS.parent}/inputs/quickstart.toml]"):
        check(words in out, f"{words} is missing in {out}")
    check(f"timeout --preserve-status --signal=USR1 {26 * 3600 - 120} " in text, f"the run is told: {text}")
    (copy / "pbs.sh").write_text(text)

    text = script("--nodes", 2, "--gpus-per-node", 4, "--queue", "gpu", "--account", "p-1", "--time", "90min",
                  "--constraint", "h100", "--container", "q.sif", scheduler="flux")
    options = options_of(text, "#flux: --")
    wanted = {"job-name": "quadrille", "output": "quadrille-{{id}}.out", "queue": "gpu", "bank": "p-1", "requires": "h100",
              "nodes": "2", "exclusive": "", "time-limit": "5400s"}
    check(options == wanted, f"options of Flux are {options}")
    out = started(text)
    for words in ("[flux] [run] [--nodes=2] [--tasks-per-node=4] [--exclusive]", "[gpu-affinity=off]",
                  "[--time-limit=5370s] [--signal=USR1@90s]", "[apptainer] [exec] [--nv]", "[quadrille] [run]"):
        check(words in out, f"{words} is missing in {out}")
    text = script("--nodes", 3, "--ranks-per-node", 2, "--cpus-per-rank", 4, scheduler="flux")
    check("--ntasks=6 --cores-per-task=4" in text and "gpu" not in text, f"no GPUs: {text}")
    (copy / "flux.sh").write_text(text)

    for script_file in (copy / "pbs.sh", copy / "flux.sh"):
        for last_line, status, wanted in ENDS:
            got = code(script_file, last_line, status)
            check(got == wanted, f"{script_file.name}: {last_line}, {status}: {got}")

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
                          (("--hint", "nomultithread", "--gpus-per-node", 1), "--cpus-per-rank"),
                          (("--nodes", 0), "--nodes")):
        process = program.call("slurm", *words, ranks=0)
        check(process.returncode == 2 and wanted in process.stderr and not process.stdout, f"slurm {words}", process)
    for scheduler, words, wanted in (("pbs", (), "--gpus-per-node 4"), ("pbs", ("--gpus-per-node", 1), "--cpus-per-rank"),
                                     ("flux", ("nosuch.toml", "--gpus-per-node", 1), "is no file"),
                                     ("flux", ("--gpus-per-node", 1, "--hint", "nomultithread"), "--hint")):
        process = program.call(scheduler, *words, ranks=0)
        check(process.returncode == 2 and wanted in process.stderr and not process.stdout, f"{scheduler} {words}", process)
    script("--gpus-per-node", 2, "--ranks-per-node", 4, "--set", "run.allow_shared_gpu=true")
    print("job scripts start what was asked for")


main()
