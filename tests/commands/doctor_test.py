# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""The doctor says what is wrong, ends with 3, and its remedy works.

doctor_test.py WRONG_SUM BINARY LAUNCHER...    WRONG_SUM: wrong_sum.cpp, for LD_PRELOAD
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402


def unmeasured(text):
    """The text without its quantities: two runs measure different ones."""
    return re.sub(r"\d[\d.]* \S+", "#", text)


def finds_a_wrong_sum(program, wrong_sum):
    """That is off by one."""
    command = [*program.launcher, "-n", "2", "env", f"LD_PRELOAD={wrong_sum}", program.binary, "doctor", "--json"]
    wrong = subprocess.run([str(part) for part in command], text=True, capture_output=True, timeout=120)
    check(wrong.returncode == 3, "a wrong sum must end with 3", wrong)
    rows = json.loads(wrong.stdout[:wrong.stdout.rindex("}") + 1])["rows"]
    failed = [row["text"] for row in rows if row["status"] == "FAIL"]
    check(failed == ["an allreduce by mpi gave a wrong sum on rank 0"], f"the rows are {rows}")


def main():
    wrong_sum = sys.argv[1]
    program = Program(sys.argv[2:])
    sound = program.call("doctor", "--json", ranks=2)
    check(sound.returncode == 0, "doctor must find this machine sound", sound)
    document = json.loads(sound.stdout)
    check(document["verdict"] in ("ok", "WARN") and len(document["ranks"]) == 2, "the document", sound)
    check("an allreduce over all ranks gave the right sum" in [row["text"] for row in document["rows"]],
          "doctor must exchange", sound)
    threads = next(row for row in document["rows"] if row["name"] == "threads")
    cores = sum(rank["cores"] for rank in document["ranks"])
    check(threads["status"] == "WARN" or f" {cores:.0f} in all" in threads["text"], f"threads of all ranks: {threads}")

    finds_a_wrong_sum(program, wrong_sum)

    # Every operation by each transport that serves, and one of these is taken for it.
    times = document["transport_times"]
    names = {time["transport"] for time in times}
    serving = {row["name"] for row in document["rows"] if row["text"] == "available"} & {"ipc", "mpi", "mpi_gpu", "nccl"}
    check(names == (serving if len(serving) > 1 else set()), "where there is a choice, all that serve are measured", sound)
    check(all(time["seconds"] > 0 for time in times), "what is measured takes time", sound)
    operations = {"broadcast", "allreduce", "reduce_scatter", "allgather", "alltoall", "sendrecv"}
    check({(time["operation"], time["transport"]) for time in times if time["bytes"] == 8} ==
          {(operation, name) for operation in operations for name in names}, "small messages", sound)
    check(all(time["auto_takes"] in names for time in times), "what is taken", sound)
    shown = program.call("doctor", ranks=2)
    for row in times:
        check(re.search(rf"^{row['operation']} .* ({'|'.join(names)})$", shown.stdout, re.M), f"the screen lacks {row}",
              shown)
    alone = json.loads(program.call("doctor", "--json", ranks=1).stdout)
    check(alone["transport_times"] == [], "a rank alone has no choice")
    for row in document["rows"]:
        check(row["name"] in shown.stdout and unmeasured(row["text"]) in unmeasured(shown.stdout),
              f"the screen lacks {row}", shown)

    # The launcher of another MPI, under which each rank stands alone.
    for rank in ("0", "1"):
        lone = program.call("doctor", "--json", ranks=0, env={**os.environ, "PMI_RANK": rank, "PMI_SIZE": "2"})
        check(lone.returncode == 3, "a lone rank must end with 3", lone)
        check(bool(lone.stdout) == (rank == "0"), "one rank speaks", lone)
        if not lone.stdout:
            continue
        found = json.loads(lone.stdout)
        row = next(row for row in found["rows"] if row["status"] == "FAIL")
        check(found["verdict"] == "FAIL" and "MPI sees one rank" in row["text"], "what is wrong", lone)
        cured = subprocess.run([*shlex.split(row["remedy"]), "--json"], text=True, capture_output=True, timeout=60)
        check(cured.returncode == 0, f"the remedy must work: {row['remedy']}", cured)
        check(len(json.loads(cured.stdout)["ranks"]) == 2, f"{row['remedy']}: two ranks", cured)
    lone = program.call("doctor", ranks=0, env={**os.environ, "PMI_RANK": "0", "PMI_SIZE": "2"})
    check(lone.returncode == 3 and row["remedy"] in lone.stdout, "the screen shows the remedy", lone)

    # Where there is no GPU, and where there is: none has this name.
    missing = program.call("doctor", "--device-map", "GPU-none", ranks=2)
    check(missing.returncode == 3 and "FAIL  device" in missing.stdout and "device_map" in missing.stdout,
          "a GPU that does not exist", missing)
    garbled = program.call("doctor", "--device-map", "0,,1", ranks=2)
    check(garbled.returncode == 2 and garbled.stderr.count("quadrille:") == 1, "a list of nothing", garbled)
    print("the doctor's findings and remedies hold")


main()
