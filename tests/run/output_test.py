# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Every option that takes a path to write to, with every kind of place there is; and the standard streams.

output_test.py BINARY LAUNCHER...
"""
import concurrent.futures
import itertools
import os
import pathlib
import resource
import socket
import stat
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line, read_journal, write_journal  # noqa: E402

CASE = ["--case", "vector", "--set", "size=64", "--set", "variant=reference", "--set", "vendor=off", "--set",
        "run.device=host", "--set", "run.repetitions=2"]
NOBODY = 65534
FOREIGN = "somebody's own words\n"
NULL, FULL, DISK = os.makedev(1, 3), os.makedev(1, 7), os.makedev(7, 250)
WRITTEN, REFUSED, FAILED = 0, 2, 4


class Options:
    """Commands that write to a path, by option."""

    def __init__(self, program):
        self.program = program
        process, _, self.base = program.run(*CASE)
        check(process.returncode == 0, "the base run", process)
        self.compared = [self.steady(name) for name in ("steady1", "steady2")]
        self.runs, self.folders = itertools.count(1), itertools.count(1)

    def steady(self, name):
        """The base run with times that are known well enough to be compared."""
        lines = read_journal(self.base)
        for line in lines:
            if "schema" in line:
                line["run_id"] = name
            if "seconds" in line:
                line.update(seconds=9 * [1e-6], suspect=[])
        directory = self.program.folder / name
        directory.mkdir()
        write_journal(directory, lines)
        return directory

    def folder(self):
        path = self.program.folder / f"place{next(self.folders)}"
        path.mkdir()
        return path

    def names(self):
        return ["report --html", "compare --html", "compare --junit", "run --junit", "run --trace", "run --trace --force", "tune --output"]

    def command(self, option, path):
        command, *words = option.split()
        flags = [*words[:1], path, *words[1:]]
        if command == "report":
            return [command, self.base, *flags]
        if command == "compare":
            return [command, *self.compared, *flags]
        if command == "run":
            return [command, *CASE, "--set", f"run.output={self.program.folder}", "--run-id", f"traced{next(self.runs)}", *flags]
        # Nothing is tunable on a host: what passes is refused with 3, and before that nothing has changed.
        return [command, "gemm", "--set", "size=64", "--set", "run.device=host", *flags]


def is_document(text):
    return text.startswith(("<!DOCTYPE html", "<?xml", '{"displayTimeUnit"')) and text.rstrip().endswith((">", "}"))


class Place:
    """Something in a folder of its own that output may go to: made by `make(folder)`, which returns its path; with
    `outcomes` by option, else `outcome`."""

    def __init__(self, name, make, outcome=WRITTEN, outcomes=None, lands=None):
        self.name, self.make, self.outcome, self.outcomes = name, make, outcome, outcomes or {}
        self.lands = lands  # name of the file that has the document, if it is another

    def expected(self, option):
        return self.outcomes.get(option, self.outcome)


def file(content="", mode=0o644, name="file"):
    def make(folder):
        path = folder / name
        path.write_text(content)
        path.chmod(mode)
        return path
    return make


def link(target, content=None):
    def make(folder):
        if content is not None:
            (folder / target).write_text(content)
        (folder / "link").symlink_to(target)
        return folder / "link"
    return make


def device(kind, number):
    def make(folder):
        os.mknod(folder / "device", kind | 0o666, number)
        return folder / "device"
    return make


def listener(folder):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(folder / "socket"))
    return folder / "socket"


def directory(folder):
    (folder / "directory").mkdir()
    return folder / "directory"


def earlier(option, options):
    """A document as this option has written one before."""
    if option.startswith("tune"):
        return ""
    path = options.folder() / "earlier"
    process = options.program.call(*options.command(option.replace(" --force", ""), path), ranks=0)
    check(process.returncode == 0, f"{option} to a new file", process)
    return path.read_text()


def places(own):
    can_make_devices = os.geteuid() == 0
    return [
        Place("absent", lambda folder: folder / "new"),
        Place("empty", file()),
        Place("earlier", file(own, 0o640), outcomes={"run --trace": REFUSED}),
        Place("foreign", file(FOREIGN), REFUSED),
        Place("link to nothing", link("target"), lands="target"),
        Place("link to earlier", link("target", own), outcomes={"run --trace": REFUSED}, lands="target"),
        Place("link to foreign", link("target", FOREIGN), REFUSED),
        Place("link to itself", link("link"), REFUSED),
        Place("directory", directory, REFUSED),
        Place("absent folder", lambda folder: folder / "absent" / "file", REFUSED),
        Place("below a file", lambda folder: file()(folder) / "file", REFUSED),
        Place("socket", listener, REFUSED),
        *([Place("null device", device(stat.S_IFCHR, NULL)),
           Place("full device", device(stat.S_IFCHR, FULL), FAILED),
           Place("disk", device(stat.S_IFBLK, DISK), REFUSED)] if can_make_devices else []),
    ]


def facts(path):
    """Kind, permissions and, of a file, content."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else os.readlink(path) if path.is_symlink() else None
    return found.st_mode, found.st_rdev, content


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def try_place(options, option, place):
    folder = options.folder()
    path = place.make(folder)
    before, names = facts(path), listing(folder)
    what, wanted = f"{option} to {place.name}", place.expected(option)
    command = options.command(option, path)
    process = options.program.call(*command, ranks=0, timeout=60)
    passes_check = 3 if option.startswith("tune") and wanted != REFUSED else wanted
    check(process.returncode == passes_check, f"{what}: expected exit code {passes_check}", process)
    said = [line for line in process.stderr.splitlines() if line.startswith(("quadrille:", "FATAL"))]
    check(len(said) == (1 if passes_check else 0), f"{what}: expected one reason where there is one", process)
    if option.startswith("run") and wanted == FAILED:
        check("RESULT FAIL" in last_line(process), f"{what}: the last line must not say PASS", process)
        directory = options.program.folder / command[command.index("--run-id") + 1]
        check((directory / "result.h5").exists(), f"{what}: the result", process)
    after = facts(path)
    lands = folder / place.lands if place.lands else path
    if passes_check == WRITTEN and (before is None or stat.S_ISREG(before[0]) or place.lands):
        check(is_document(lands.read_text()), f"{what}: {lands} must have the document", process)
        check(before is None or after[0] == before[0], f"{what}: kind and permissions stay", process)
        names = sorted({*names, lands.name})
    elif before is not None:
        check(after == before, f"{what}: it must stay as it was, {before}, and not become {after}", process)
    check(listing(folder) == names, f"{what}: expected {names}, found {listing(folder)}", process)


def try_pipe(options, option, is_named):
    """A pipe that is read from gets the whole document; read first, it would keep the program for ever."""
    text = []
    if is_named:
        path = options.folder() / "pipe"
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: text.append(path.read_text()), daemon=True)
        reader.start()
        process = options.program.call(*options.command(option, path), ranks=0, timeout=60)
        reader.join(20)
        check(stat.S_ISFIFO(os.lstat(path).st_mode), f"{option} to a named pipe: it stays one", process)
    else:
        receiving, sending = os.pipe()
        reader = threading.Thread(target=lambda: text.append(open(receiving).read()), daemon=True)
        reader.start()
        process = options.program.call(*options.command(option, f"/dev/fd/{sending}"), ranks=0, timeout=60, pass_fds=[sending])
        os.close(sending)
        reader.join(20)
    check(process.returncode == 0 and text and is_document(text[0]), f"{option} to a pipe", process)


def try_standard_output(options, option):
    # Not /dev/stdout, which a program that replaces it would take from the machine.
    folder = options.folder()
    has_tables = option.startswith(("run", "tune"))
    for path in ("-", "/proc/self/fd/1"):
        process = options.program.call(*options.command(option, path), ranks=0, timeout=60)
        check(process.returncode == (2 if has_tables else 0), f"{option} {path}", process)
        check(has_tables or is_document(process.stdout), f"{option} {path}: the document alone", process)
    if has_tables:
        return
    with open(folder / "file", "w") as output:
        output.write("before\n")
        output.flush()
        subprocess.run(options.program.command(*options.command(option, "/proc/self/fd/1"), ranks=0), stdout=output, check=True,
                       timeout=60)
        text = (folder / "file").read_text()
    check(text.startswith("before\n") and is_document(text[7:]), f"{option} to standard output that is a file")


def as_nobody(options, option):
    """What may not be written is refused, and kept."""
    # Users other than root do not see a folder of root's.
    for path in (options.program.folder, *options.program.folder.parents):
        if path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode | 0o055)
    options.program.folder.chmod(0o777)  # where runs write
    user = {"user": NOBODY} if os.geteuid() == 0 else {}
    own = earlier(option, options)
    for name, mode_of_folder, mode in (("file", 0o777, 0o444), ("folder", 0o555, 0o666)):
        folder = options.folder()
        path = file(own, mode)(folder)
        folder.chmod(mode_of_folder)
        process = options.program.call(*options.command(option, path), ranks=0, **user)
        check(process.returncode == 2 and str(folder) in process.stderr and path.read_text() == own,
              f"{option} to a read-only {name}", process)
        folder.chmod(0o755)


def size_limit(options):
    """A file at its size limit is an error like a full disk, and leaves nothing."""
    def call(limit, folder, *command):
        process = options.program.call(*command, ranks=0,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        check(process.returncode == 4 and "File too large" in process.stderr, f"{command[0]} under ulimit -f", process)
        left = [path for path in folder.rglob("*") if ".tmp" in path.name or path.name.startswith("field_io")]
        check(not left, f"{left} are left", process)

    folder = options.folder()
    call(4096, folder, *options.command("report --html", folder / "page"))
    for variant in ("hdf5", "reference"):  # MPI has files of some MiB
        folder = options.folder()
        call(16 << 20, folder, "run", "--case", "field_io", "--set", "size=2Ki", "--set", f"variant={variant}", "--set",
             "run.device=host", "--set", f"run.output={folder}")


def run_files(options):
    """Neither a trace nor a file of JUnit's is one of a run's own files, whether or not they are there."""
    program = options.program
    for name in ("result.h5", "result.jsonl", "config.toml", "log.txt", "fields/vector.h5"):
        before = facts(options.base / name)
        for option in ("--trace", "--junit"):
            process = program.call("run", *CASE, "--set", f"run.output={program.folder}", "--run-id", options.base.name, "--force",
                                   option, options.base / name, ranks=0)
            check(process.returncode == 2 and facts(options.base / name) == before, f"{option} {name} --force", process)


def streams(options):
    """Commands end with 4 and a reason where standard output takes nothing; nothing depends on standard error."""
    program = options.program
    printing = [["--help"], ["--version"], ["man"], ["completion", "bash"], ["list", "variants"], ["list", "faults", "--json"],
                ["explain"], ["slurm", "--ranks-per-node", 2], ["doctor"], ["report", options.base], ["report", "--csv", options.base],
                ["compare", *options.compared], ["run", *CASE, "--dry-run"], ["run", *CASE, "--print-config"],
                ["rerun", options.base, "--dry-run"]]
    running = ["run", *CASE, "--set", f"run.output={program.folder}", "--run-id"]

    def call(command, redirection):
        words = program.command(*command, ranks=0)
        return subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", *words], text=True, capture_output=True, timeout=60)

    for number, (redirection, reason) in enumerate(((">/dev/full", "No space left"), (">&-", "Bad file descriptor"))):
        for command in (*printing, [*running, f"unseen{number}"]):
            process = call(command, redirection)
            said = [line for line in process.stderr.splitlines() if "standard output" in line]
            check(process.returncode == 4 and len(said) == 1 and reason in said[0], f"{command} {redirection}", process)
        unseen = program.folder / f"unseen{number}"
        check((unseen / "result.h5").exists(), "a run that nobody sees writes its result")
        check("\nRESULT FAIL" in (unseen / "log.txt").read_text(), "and what it would have said in log.txt")
    for number, redirection in enumerate(("2>/dev/full", "2>&-")):
        for command, code in (*((command, 0) for command in printing), ([*running, f"mute{number}"], 0), (["nosuch"], 2),
                              (["report", "nosuch"], 2), (["explain", "nosuch"], 2)):
            process = call(command, redirection)
            check(process.returncode == code, f"{command} {redirection}: expected exit code {code}", process)
    process = call([*running, "all"], "<&- >&- 2>&-")
    report = program.call("report", program.folder / "all", ranks=0)
    check(process.returncode == 4 and report.returncode == 0, "all streams closed: no file gets their numbers", report)


def main():
    program = Program(sys.argv[1:])
    options = Options(program)
    tasks = [(size_limit, options), (run_files, options), (streams, options)]
    for option in options.names():
        tasks += [(try_place, options, option, place) for place in places(earlier(option, options))]
        if not option.startswith("tune"):
            tasks += [(try_pipe, options, option, is_named) for is_named in (True, False)]
        tasks.append((try_standard_output, options, option))
    # They mostly wait for MPI to start.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(*task) for task in tasks]:
            future.result()
    for option in options.names():
        as_nobody(options, option)
    if os.geteuid() != 0:
        print("left out: devices, which root alone can make")
    print("every place gets what was asked for, or stays as it was")


main()
