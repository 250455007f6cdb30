# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Quadrille as a ReFrame check: a run that passes, and its rates as performance variables.

    reframe -C SITE.py -c jobs/reframe -r
    reframe -C SITE.py -c jobs/reframe -r -S input=inputs/peak.toml -S num_tasks=8 -S num_tasks_per_node=4

Sanity is the last line, RESULT PASS, not an exit code: 1 is that of a wrong result, and of mpirun whatever else
went wrong. Performance variables are called CASE/VARIANT, in the unit of the
rate; to hold a system to them, set `reference` in a class of your own derived from this one.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, sanity_function, variable


@rfm.simple_test
class QuadrilleCheck(rfm.RunOnlyRegressionTest):
    descr = "Does this machine compute, move and overlap as it should?"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    maintainers = ["The Quadrille developers"]

    # Below the folder that holds the check: the repository, or PREFIX/share/quadrille.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    built = os.path.join(root, "build", "quadrille")
    program = variable(str, value=built if os.path.exists(built) else "quadrille")
    input = variable(str, value=os.path.join(root, "inputs", "quickstart.toml"))
    options = variable(str, value="")  # such as "--only summa --set run.device=host"
    num_tasks = 2
    sourcesdir = None
    time_limit = "1h"

    @run_after("init")
    def start(self):
        if not os.path.isabs(self.input):
            self.input = os.path.join(self.root, self.input)
        self.executable = self.program
        self.executable_opts = ["run", self.input, "--set", "run.output=results", "--run-id", "check", self.options]
        self.postrun_cmds = [f"{self.program} report --json results/check > report.json"]
        self.env_vars = {"OMP_PROC_BIND": "false"}

    @sanity_function
    def passed(self):
        return sn.all([
            sn.assert_found(r"^RESULT ", self.stdout, "no RESULT line: the launcher ended, not the run"),
            sn.assert_found(r"^RESULT PASS ", self.stdout, "the run does not end with RESULT PASS"),
        ])

    @run_after("sanity")
    def take_rates(self):
        with open(os.path.join(self.stagedir, "report.json")) as file:
            cases = json.load(file)["cases"]

        def rate(value, unit):
            return sn.make_performance_function(sn.defer(value), unit)

        self.perf_variables = {
            case["id"].replace(":", "/"): rate(case["rate"], case["unit"]) for case in cases if case["rate"] is not None
        }
