# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Control groups that tests make for themselves, where they may."""
import contextlib
import os
import pathlib
import time


def made(controller, old, new):
    """A group of `controller` below that of this process, with files of cgroup v1 or v2 written; None where nobody may."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            top, files = f"sys/fs/cgroup/{controller}", old
        elif not controllers:
            top, files = "sys/fs/cgroup", new
        else:
            continue
        # The path that a container shows may not exist inside it.
        for parent in (path, ""):
            folder = pathlib.Path("/") / top / parent.lstrip("/") / f"quadrille-test-{os.getpid()}"
            try:
                folder.mkdir()
            except OSError:
                continue
            try:
                for name, value in files.items():
                    (folder / name).write_text(str(value))
                return folder
            except OSError:
                folder.rmdir()
    return None


@contextlib.contextmanager
def control_group(controller, old, new):
    """As made(); the group is gone afterwards."""
    group = made(controller, old, new)
    try:
        yield group
    finally:
        for _ in range(50 if group else 0):  # processes that were killed leave it late
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def enter(group):
    """For preexec_fn: puts the process to be started into the group."""
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
