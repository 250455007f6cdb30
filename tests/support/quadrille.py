# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Starts the program as a user would, for tests of its behaviour."""
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree

TESTS = pathlib.Path(__file__).resolve().parent.parent


class Program:
    """Runs `BINARY` under `LAUNCHER -n RANKS` with an output folder of its own."""

    def __init__(self, arguments):
        self.binary, *self.launcher = arguments
        self.scratch = tempfile.TemporaryDirectory(prefix="quadrille-test-")
        self.folder = pathlib.Path(self.scratch.name)
        self.numbers = itertools.count(1)

    def input(self, text):
        """The path of an input file that holds this text."""
        source = self.folder / "input.toml"
        source.write_text(text)
        return source

    def command(self, *arguments, ranks=1):
        """The words that start it; with ranks = 0 without a launcher."""
        launcher = [*self.launcher, "-n", str(ranks)] if ranks else []
        return [*launcher, self.binary, *map(str, arguments)]

    def call(self, *arguments, ranks=1, timeout=800, **kwargs):
        """Returns the finished process; its exit code is the launcher's."""
        return subprocess.run(self.command(*arguments, ranks=ranks), text=True, timeout=timeout, capture_output=True,
                              **kwargs)

    def start(self, *arguments, ranks=1, stderr=subprocess.PIPE):
        """Returns the process as it runs; one of `run` writes into the test's folder."""
        return subprocess.Popen(self.command(*arguments, "--set", f"run.output={self.folder}", ranks=ranks), text=True,
                                stdout=subprocess.PIPE, stderr=stderr)

    def listed(self, what):
        """What `quadrille list WHAT --json` says."""
        return json.loads(self.call("list", what, "--json", ranks=0).stdout)

    def run(self, *arguments, ranks=1, timeout=800):
        """`quadrille run`; returns (process, report as a dictionary or None, run directory)."""
        run_id = f"run{next(self.numbers)}"
        # Later --set options win, so that a test can ask for another folder.
        process = self.call("run", "--set", f"run.output={self.folder}", *arguments, "--run-id", run_id,
                            ranks=ranks, timeout=timeout)
        directory = self.folder / run_id
        report = None
        if (directory / "result.h5").exists():
            shown = self.call("report", "--json", directory / "result.h5", ranks=0)
            assert shown.returncode == 0, shown.stderr
            report = json.loads(shown.stdout)
        return process, report, directory


def check(condition, message, process=None):
    """Ends the test with `message`, and with what the process printed."""
    if condition:
        return
    print(f"FAILED: {message}")
    if process is not None:
        print("exit code", process.returncode)
        print(process.stdout[-4000:])
        print(process.stderr[-4000:])
    raise SystemExit(1)


def read_journal(directory):
    """What the lines of a run's journal hold."""
    return [json.loads(line) for line in (directory / "result.jsonl").read_text().splitlines()]


def read_junit(path):
    """Of each test case of a file of JUnit's, by its name, the element that says how it ended."""
    suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
    endings = {}
    for case in suite.iter("testcase"):
        (endings[case.get("name")],) = [child.tag for child in case]
    for attribute, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        count = list(endings.values()).count(element)
        assert int(suite.get(attribute)) == count, f"{suite.attrib} of {endings}"
    assert int(suite.get("tests")) == len(endings), f"{suite.attrib} of {endings}"
    return endings


def write_journal(directory, lines):
    (directory / "result.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def last_line(process):
    lines = process.stdout.strip().splitlines()
    return lines[-1] if lines else ""


os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
