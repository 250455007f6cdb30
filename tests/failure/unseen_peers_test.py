# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Ranks that cannot open each other's memory, as in containers of their own: what needs it says so, the rest works.

unseen_peers_test.py PROGRAM LAUNCHER...
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

# Each rank has process numbers of its own.
ALONE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def main():
    program = Program(sys.argv[1:])
    try:
        if subprocess.run([*ALONE, "true"], capture_output=True).returncode != 0:
            sys.exit(77)
    except FileNotFoundError:
        sys.exit(77)
    # Open MPI's own shared memory ends by a signal there.
    os.environ["OMPI_MCA_btl"] = "tcp,self"

    def run(transport):
        command = program.command("run", "--case", "sendrecv", "--set", "size=1Ki", "--set", "run.device=host", "--set",
                                  f"run.transport={transport}", "--set", f"run.output={program.folder}", ranks=2)
        at = command.index(program.binary)
        return subprocess.run([*command[:at], *ALONE, *command[at:]], capture_output=True, text=True, timeout=100)

    asked = run("ipc")
    check(asked.returncode == 3, "what cannot be is asked for by name: exit 3", asked)
    lines = [line for line in asked.stderr.splitlines() if line.startswith("quadrille: ")]
    # Its number is that of another process here, which may hold a file of another size under the same number.
    check(len(lines) == 1 and 'transport "ipc" is unavailable: ' in lines[0] and "memory of local rank 1" in lines[0],
          f"one line says why: {lines}", asked)
    chosen = run("auto")
    check(chosen.returncode == 0 and "RESULT PASS" in chosen.stdout, "others are there", chosen)


main()
