# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each node gets a verdict with a reason and an action, and the exit code says the worst.

check_test.py BINARY LAUNCHER...

How fast this machine is decides nothing here: judges that compare rates are off where a code is expected.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, last_line  # noqa: E402

UNDECIDED, WRONG, SLOW, USAGE = 9, 1, 6, 2
# All but the judge that a test is about.
JUDGES = ["physics", "reference", "peers", "history"]


def without(*kept):
    return [word for judge in JUDGES if judge not in kept for word in ("--without", judge)]


def main():
    program = Program(sys.argv[1:])
    quick = ["check", "--quick", "--set", "run.device=host", "--set", f"run.output={program.folder}",
             "--set", "run.repetitions=3", "--limit", "800"]
    for name, size in {"memory_copy": "256Ki", "memory_add": "256Ki", "gemm_f64": "128", "gemm_f32": "128",
                       "allreduce": "64Ki", "network_bandwidth": "64Ki"}.items():
        quick += ["--set", f"{name}.size_host={size}"]

    def call(*arguments, ranks=1, code=0):
        process = program.call(*quick, *arguments, ranks=ranks)
        codes = code if isinstance(code, tuple) else (code,)
        check(process.returncode in codes, f"check {arguments} must end with {codes}", process)
        return process

    # Nothing to compare with: what is measured is right, and no more is known.
    alone = call("--json", code=UNDECIDED)
    shown = json.loads(alone.stdout)
    check(shown["verdict"] == "UNKNOWN" and shown["exit_code"] == UNDECIDED, "nothing is compared", alone)
    node, = shown["subjects"]
    for metric in ("memory_copy", "gemm_f64", "gemm_f32"):
        check(node["readings"][metric]["value"] > 0, f"{metric} must be measured", alone)
    check("allreduce" not in node["readings"], "one rank has no allreduce", alone)

    # Two nodes of two ranks, each alone and then together.
    output = program.folder / "out"
    table = program.folder / "table.toml"
    two = call("--set", "run.fake_nodes=2", "--output", output, "--write-reference", table, *without("peers"), ranks=4,
               code=(0, SLOW, UNDECIDED))
    line = last_line(two)
    check(re.match(r"CHECK (PASS|SLOW|UNKNOWN) nodes=2 gpus=0 pass=\d slow=\d broken=0 unknown=\d compared=\d+ of=\d+ ", line),
          "the last line counts", two)
    check("slowest pair of nodes: " in two.stdout, "the slowest pair is named", two)
    document = json.loads((output / "check.json").read_text())
    names = [subject["node"] for subject in document["subjects"]]
    check(len(set(names)) == 2, "two nodes", two)
    for subject in document["subjects"]:
        for metric in ("memory_copy", "allreduce", "network_bandwidth", "network_latency"):
            check(subject["readings"][metric]["value"] > 0, f"{metric} of {subject['node']}", two)
    lines = (output / "nodecheck.txt").read_text().splitlines()
    check(len(lines) == 3 and all(re.match(r"\S+ (PASS|PERF-FAIL|FAILED)( .+)?$", line) for line in lines[1:]),
          "nodecheck.txt has a line for each node", two)
    check(all(re.match(r"#|\w+=\S+$", line) for line in (output / "metrics.txt").read_text().splitlines()),
          "metrics.txt has name=value", two)
    prometheus = (output / "metrics.prom").read_text()
    check(prometheus.endswith("# EOF\n") and prometheus.count("quadrille_check_verdict{") == 2, "OpenMetrics text", two)

    # A table and an earlier check of a machine a hundred times as fast: SLOW, by that judge, to be drained.
    def faster(readings):
        for name, reading in readings.items():
            reading["value"] *= 0.01 if reading["unit"] == "s" else 100
        return readings

    for subject in document["subjects"]:
        faster(subject["readings"])
    baseline = program.folder / "baseline.json"
    baseline.write_text(json.dumps(document))
    reference = program.folder / "reference.toml"
    reference.write_text(re.sub(r"(\w+) = \{ median = (\S+),",
                                lambda found: f"{found[1]} = {{ median = "
                                f"{float(found[2]) * (0.01 if 'latency' in found[1] else 100)},", table.read_text()))
    for judge, option in (("reference", reference), ("history", baseline)):
        slow = call(f"--{'baseline' if judge == 'history' else judge}", option, "--set", "run.fake_nodes=2",
                    *without(judge), ranks=4, code=SLOW)
        check(last_line(slow).startswith("CHECK SLOW nodes=2 gpus=0 pass=0 slow=2"), "both nodes are slow", slow)
        check(len(re.findall(r"scontrol update NodeName=\S+ State=DRAIN Reason=\"quadrille: SLOW: ", slow.stdout)) == 2,
              "lines for Slurm", slow)
        check(f"expected by {judge}" in slow.stdout and "RESET" in slow.stdout, "judge and action", slow)

    # A wrong result names its node; the other keeps its own verdict.
    for fault in ("bit_flip", "nan"):
        broken = call("--inject-fault", fault, "--json", "--set", "run.fake_nodes=2", *without(), ranks=2, code=WRONG)
        verdicts = [subject["verdict"] for subject in json.loads(broken.stdout)["subjects"]]
        check(verdicts == ["BROKEN", "UNKNOWN"], f"{fault} on the first node alone: {verdicts}", broken)

    # What is known to the bit, and only a check that is not quick looks at.
    normal = [word for word in quick if word != "--quick"]
    for metric in ("memory_bits", "memory_inverted", "peak_f64", "peak_f32", "peak_i32"):
        normal += ["--set", f"{metric}.size_host={'16Mi' if 'peak' in metric else '256Ki'}"]
    broken = program.call(*normal, "--set", "file_system.size_host=64", "--inject-fault", "bit_flip", "--json")
    readings = json.loads(broken.stdout)["subjects"][0]["readings"]
    for metric in ("memory_bits", "memory_inverted", "peak_f64", "peak_f32", "peak_i32"):
        check("expected 0x" in readings[metric].get("wrong", ""), f"{metric} is wrong by a bit", broken)
    homeless = program.call(*normal, "--set", f"run.output={program.folder / 'no'}")
    check(homeless.returncode == USAGE and "--set run.output=FOLDER" in homeless.stderr and not homeless.stdout,
          "file_system needs a folder", homeless)

    # What is wrong with an option is said in one line before anything is measured.
    (program.folder / "text.json").write_text("{}")
    (program.folder / "bad.toml").write_text('[[device]]\nmodel = "A"\nspeed = { median = 1 }\n')
    (program.folder / "other.toml").write_text('[[device]]\nmodel = "A"\ngemm_f64 = { median = 1 }\n')
    document["subjects"][0]["model"] = "another"
    (program.folder / "model.json").write_text(json.dumps(document))
    for arguments, why in (
            (["--reference", program.folder / "none.toml"], "none.toml"),
            (["--reference", program.folder / "bad.toml"], "'speed' is no metric"),
            (["--reference", program.folder / "other.toml"], "none of the devices here"),
            (["--baseline", program.folder / "text.json"], "is no result of a check"),
            (["--baseline", program.folder / "model.json", "--set", "run.fake_nodes=2"], 'was "another" then'),
            (["--output", program.folder / "text.json"], "--output"),
            (["--write-reference", program.folder / "no" / "table.toml"], "--write-reference"),
            (["--without", "luck"], "'luck' is none of physics"),
            (["--inject-fault", "typo"], "'typo' is none of"),
            (["--set", "run.repetition=3"], "repetition"),
            (["--simulate", program.folder / "bad.toml"], "bad.toml:1")):
        process = call(*arguments, ranks=2 if "run.fake_nodes=2" in arguments else 1, code=USAGE)
        lines = [line for line in process.stderr.splitlines() if line.startswith("quadrille: ")]
        check(len(lines) == 1 and why in lines[0] and not process.stdout, f"{arguments}: one line with '{why}'", process)

    # The judges find what is planted in made-up machines.
    samples = pathlib.Path(__file__).resolve().parent.parent / "check" / "samples.csv"
    simulated = program.call("check", "--simulate", samples, "--machines", 20, ranks=0)
    check(simulated.returncode == 0 and last_line(simulated).startswith("SIMULATION PASS machines=20 found="),
          "the simulation must end well", simulated)


if __name__ == "__main__":
    main()
