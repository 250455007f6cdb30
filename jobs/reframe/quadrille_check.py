# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Quadrille as ReFrame checks: a run that passes, with its rates as performance variables, and a verdict on each GPU
and node.

    reframe -C SITE.py -c jobs/reframe -n QuadrilleCheck -r
    reframe -C SITE.py -c jobs/reframe -n QuadrilleCheck -r -S input=inputs/peak.toml -S num_tasks=8
    reframe -C SITE.py -c jobs/reframe -n QuadrilleNodeCheck -r -S num_tasks=8 -S num_tasks_per_node=4

Sanity is the last line, RESULT PASS or CHECK PASS, not an exit code: 1 is that of a wrong result, and of mpirun
whatever else went wrong. Performance variables are called CASE/VARIANT, or NODE/GPU/METRIC, in the unit of the rate;
to hold a system to them, set `reference` in a class of your own derived from these.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, sanity_function, variable


def rate(value, unit):
    return sn.make_performance_function(sn.defer(value), unit)


class Quadrille(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    maintainers = ["The Quadrille developers"]

    # Below the folder that holds the check: the repository, or PREFIX/share/quadrille.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    built = os.path.join(root, "build", "quadrille")
    program = variable(str, value=built if os.path.exists(built) else "quadrille")
    options = variable(str, value="")  # such as "--only summa --set run.device=host", "--reference FILE"
    num_tasks = 2
    sourcesdir = None
    time_limit = "1h"

    @run_after("init")
    def start(self):
        self.executable = self.program
        self.env_vars = {"OMP_PROC_BIND": "false"}

    def ends_with(self, word):
        return sn.all([
            sn.assert_found(rf"^{word} ", self.stdout, f"no {word} line: the launcher ended, not the program"),
            sn.assert_found(rf"^{word} PASS ", self.stdout, f"it does not end with {word} PASS"),
        ])

    def read(self, name):
        with open(os.path.join(self.stagedir, name)) as file:
            return json.load(file)


@rfm.simple_test
class QuadrilleCheck(Quadrille):
    descr = "Does this machine compute, move and overlap as it should?"
    input = variable(str, value=os.path.join(Quadrille.root, "inputs", "quickstart.toml"))

    @run_after("init")
    def run_input(self):
        if not os.path.isabs(self.input):
            self.input = os.path.join(self.root, self.input)
        self.executable_opts = ["run", self.input, "--set", "run.output=results", "--run-id", "check", self.options]
        self.postrun_cmds = [f"{self.program} report --json results/check > report.json"]

    @sanity_function
    def passed(self):
        return self.ends_with("RESULT")

    @run_after("sanity")
    def take_rates(self):
        self.perf_variables = {
            case["id"].replace(":", "/"): rate(case["rate"], case["unit"])
            for case in self.read("report.json")["cases"] if case["rate"] is not None
        }


@rfm.simple_test
class QuadrilleNodeCheck(Quadrille):
    descr = "Is every GPU and node all right? With a task for each GPU"

    @run_after("init")
    def check_nodes(self):
        self.executable_opts = ["check", "--output", "results", self.options]

    @sanity_function
    def passed(self):
        return self.ends_with("CHECK")

    @run_after("sanity")
    def take_rates(self):
        self.perf_variables = {
            f"{each['node']}/{'node' if each['gpu'] is None else each['gpu']}/{metric}":
            rate(reading["value"], reading["unit"])
            for each in self.read("results/check.json")["subjects"]
            for metric, reading in each["readings"].items() if reading["value"] is not None
        }
