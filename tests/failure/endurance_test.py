# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""A burn-in takes no more memory, descriptors or threads in its last rounds than in its first.

endurance_test.py SECONDS INPUT BINARY LAUNCHER...
"""
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

# Pages that allocators keep differ from round to round.
SLACK_BYTES = 8 << 20


def ranks_of(run_id):
    """Processes whose command line has this word, but for the launcher."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if run_id.encode() in words and words[0].endswith(b"quadrille"):
            found.append(entry)
    return found


def usage(rank):
    """Resident bytes, descriptors and threads of one process."""
    resident = int((rank / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(list((rank / "fd").iterdir())), len(list((rank / "task").iterdir()))


def main():
    seconds, source = float(sys.argv[1]), sys.argv[2]
    program = Program(sys.argv[3:])
    run_id = f"endurance-{os.getpid()}"
    errors = program.folder / "stderr"
    samples = {}
    with open(errors, "w") as stderr:
        process = program.start("run", source, "--duration", f"{seconds}s", "--run-id", run_id, ranks=2, stderr=stderr)
        while process.poll() is None:
            time.sleep(0.25)
            if not re.search(r"\bround \d", errors.read_text()):
                continue  # the first round allocates what all need
            for rank in ranks_of(run_id):
                try:
                    samples.setdefault(rank.name, []).append(usage(rank))
                except OSError:
                    pass  # it has just ended
        out = process.communicate()[0]
    check(process.returncode == 0, f"it ended with {process.returncode}:\n{out[-4000:]}\n{errors.read_text()[-4000:]}")
    check(len(samples) == 2, f"2 ranks were expected, seen were {sorted(samples)}")
    for rank, seen in samples.items():
        check(len(seen) >= 20, f"{len(seen)} samples of rank process {rank} after the first round: run it for longer")
        # The end frees or joins what rounds use; the last second is not a round.
        seen = seen[:-4]
        early, late = seen[: len(seen) // 2], seen[len(seen) // 2:]
        for what, i, slack in (("bytes", 0, SLACK_BYTES), ("descriptors", 1, 0), ("threads", 2, 0)):
            before, after = max(use[i] for use in early), max(use[i] for use in late)
            print(f"process {rank}: {what} {before} in the first half, {after} in the second")
            check(after <= before + slack, f"process {rank}: {what} grew from {before} to {after}")


main()
