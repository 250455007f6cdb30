#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: makes small faults in the sources, one at a time, and counts those that tests find.

mutate.py AREA COUNT [--seed N] [--build DIR] [--results FILE] [--again]

Run it in a clone of its own without local changes, for it edits the sources in place; Ctrl-C restores
them. DIR has all tests built, -DQUADRILLE_CUDA=OFF suffices and ccache helps. Mutants are drawn by the
seed from all sites of the area until COUNT of them have been judged, by tests of the default command;
those whose programs do not have the file are left out. FILE keeps one line for each, and a later call
goes on from there.
--again judges anew, after tests were added or on a quieter machine, what survived or did not end.
A mutant that does not compile (warnings are errors) does not count, nor does one whose object file is
that of the original; one that takes five times the usual time counts as found. Of headers only those of
one operation's kernels are mutated: others rebuild too much. Neither is what takes a GPU.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ANY = None
SLOW = ", which does not end"
BOUNDS = r"\w*bound\w*"
CHECKS = rf"validate|check\w*|compare\w*|allowed|agree|{BOUNDS}"
PROGRAM = [r"^workloads/(correct|grids)\.np2(\.64Ki)?$", "^commands/(commands|bad_input)"]

# Of each area: files, of which the functions to mutate (a pattern of names; ANY: all); expressions (of CMake)
# for the tests in order, cheap ones first, where {operation} is the folder of the file
# below kernels/, in support/ the first word of its name.
AREAS = {
    "kernels": (
        [("kernels/**/*.cu", ANY), ("kernels/[!cs]*/**/*.cuh", ANY), ("kernels/co[!m]*/**/*.cuh", ANY),
         ("kernels/support/*.cuh", ANY)],
        ["^kernels/{operation}(_[a-z]+)?_cuda_test_simt$", "^kernels/(variant|access)_test(_simt)?$"]),
    "exchanges": (
        [("src/comm/*.cpp", ANY)],
        ["^comm/", "^failure/", "^workloads/sabotage$", *PROGRAM]),
    "runner": (
        [("src/measure/*.cpp", ANY), ("src/run/*.cpp", ANY)],
        ["^(measure|run)/", "^(io|report)/", r"^workloads/(batch|reproducible|sabotage$)",
         *PROGRAM, "^commands/report"]),
    "checks": (
        [("src/measure/digest.cpp", ANY), ("src/measure/fault.cpp", ANY), ("src/core/stats.cpp", ANY),
         ("src/workloads/checks/*.cpp", ANY), ("src/workloads/data.cpp", ANY),
         ("src/workloads/*.cpp", CHECKS), ("src/workloads/[!c]*/*.cpp", CHECKS),
         ("kernels/[!s]*/*.cpp", BOUNDS)],
        ["^(measure|core)/", "^kernels/[a-z0-9_]+_test$", r"^workloads/(checks|work)_test",
         "^workloads/sabotage$", r"^workloads/random_cases\.np2", *PROGRAM]),
    "io": (
        [("src/io/*.cpp", ANY)],
        ["^(io|report)/", "^workloads/saved_fields", *PROGRAM]),
    "reports": (
        [("src/report/*.cpp", ANY)],
        ["^report/", "^commands/commands"]),
}
# What takes a GPU, stamps, and what another area holds.
GPU_FUNCTIONS = r"\w+_on_device|choose_gpu|refuse_shared_gpus|describe(?=\(device::KernelFacts)"
LEFT_OUT = re.compile(r"_vendor_cuda\.|transport_nccl|common/ordered_bits|/version\.cpp")
NOT_OF_RUNNER = re.compile(r"measure/(digest|fault)\.cpp")

TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\[^\n]{1,4}?|[^'\\\n])'"""
                  r"""|^[ \t]*\#(?:\\\n|[^\n])*|\b(?:static_assert|asm)\s*\([^;]*;""", re.M | re.S)
SWAPS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "&&": ["||"], "||": ["&&"],
    "&": ["|"], "|": ["&"], "^": ["&"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "%=": ["*="], "<<=": [">>="], ">>=": ["<<="],
}
WORDS = {"true": "false", "false": "true", "break": "continue", "continue": "break", "min": "max",
         "max": "min", "fmin": "fmax", "fmax": "fmin", "front": "back", "back": "front"}
STATEMENT = re.compile(r"^[ \t]+((?:\w|::|\.|->)+(?:\[[^\n;]*?\])?)(\(|\s[-+*/%&|^<>]{0,2}=\s)", re.M)
KEYWORDS = {"return", "if", "while", "for", "switch", "else", "throw", "delete", "sizeof"}


def closing(code: str, at: int, ends: str) -> int:
    """The first of `ends` outside of brackets opened from `at` on, or -1."""
    depth = 0
    for i in range(at, len(code)):
        if depth == 0 and code[i] in ends:
            return i
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth < 0:
            return -1
    return -1


def sites(text: str) -> list[tuple[int, int, list[str]]]:
    """(first, last, what may stand there instead) of every place where a mutant can differ."""
    code = TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found = []
    for m in re.finditer(r"(?<=\s)([-+*/%&|^<>=!]{1,3})(?=\s)", code):  # clang-format spaces them
        if m[1] in SWAPS:
            found.append((m.start(), m.end(), SWAPS[m[1]]))
    for m in re.finditer(r"\+\+|--", code):
        found.append((m.start(), m.end(), ["--" if m[0] == "++" else "++"]))
    for m in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", code):
        found.append((m.start(), m.end(), [str(int(m[0]) + 1), str(int(m[0]) - 1)]))
    for m in re.finditer(r"\b(?:true|false|(?:break|continue)(?=;)|(?:f?min|f?max|front|back)(?=\())", code):
        found.append((m.start(), m.end(), [WORDS[m[0]]]))
    for m in re.finditer(r"!(?=[\w(])", code):
        found.append((m.start(), m.end(), [""]))
    for m in re.finditer(r"\b(?:if|while)(?: constexpr)? \(", code):
        last = closing(code, m.end(), ")")
        if last > 0 and not re.search(r";| = ", code[m.end():last]):
            found.append((m.end(), last, [f"!({text[m.end():last]})"]))
    for m in re.finditer(r"\breturn ([^;{}]*[^;{}\s]);", code):
        if m[1] not in WORDS:
            found.append((m.start(1), m.end(1), ["{}", f"!({text[m.start(1):m.end(1)]})"]))
    for m in STATEMENT.finditer(code):
        last = closing(code, m.start(1), ";{" if m[2] == "(" else ";")
        opens = code[:m.start()].rstrip()[-1:]
        if last > 0 and code[last] == ";" and opens in "{};):" and m[1] not in KEYWORDS:
            found.append((m.start(1), last, [""]))
    return found


def functions(text: str, names: str) -> list[tuple[int, int]]:
    spans = []
    for m in re.finditer(rf"^ *[\w:<>& ]+ (?:\w+::)?(?:{names})(?=\()", text, re.M):
        opens = closing(text, m.end(), "{;")
        if opens > 0 and text[opens] == "{":
            spans.append((opens, closing(text, opens + 1, "}")))
    return spans


def draw(area: str, seed: int) -> list[dict]:
    """All mutants of an area, one for each site, in the order in which the seed draws them."""
    mutants, seen = [], set()
    for pattern, names in AREAS[area][0]:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            if name in seen or LEFT_OUT.search(name) or (area == "runner" and NOT_OF_RUNNER.search(name)):
                continue
            seen.add(name)
            text = path.read_text()
            spans = [(0, len(text))] if names is ANY else functions(text, names)
            without = functions(text, GPU_FUNCTIONS)
            times: dict[str, int] = {}
            for first, last, choices in sites(text):
                places = [any(a <= first < b for a, b in parts) for parts in (spans, without)]
                if places != [True, False]:
                    continue
                start = text.rfind("\n", 0, first) + 1
                line = text[start:text.find("\n", first)]
                # By content, so that a change elsewhere in the file leaves the order alone.
                key = f"{seed} {name} {line.strip()} {first - start} {last - first}"
                times[key] = times.get(key, 0) + 1
                digest = hashlib.sha256(f"{key} {times[key]}".encode()).hexdigest()
                mutants.append({
                    "id": digest[:12], "area": area, "file": name, "line": text.count("\n", 0, first) + 1,
                    "first": first, "last": last, "was": text[first:last],
                    "is": choices[int(digest[12:20], 16) % len(choices)]})
    return sorted(mutants, key=lambda m: m["id"])


def confine() -> None:
    """In a test's process: a fault that fills memory or disk ends the test, not the machine."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    Path("/proc/self/oom_score_adj").write_text("1000")


class Judge:
    def __init__(self, build: Path, results: Path):
        self.build, self.results = build.resolve(), results
        self.lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        self.usual = {line["test"]: line["seconds"] for line in self.lines if "test" in line}
        self.tests: dict[str, list[dict]] = {}
        self.commands = json.loads((build / "compile_commands.json").read_text())

    def keep(self, line: dict) -> None:
        self.lines.append(line)
        with self.results.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def make(self, targets: list[str]) -> bool:
        done = subprocess.run(["ninja", "-C", self.build, *targets], stdout=subprocess.DEVNULL)
        return done.returncode == 0

    def is_stale(self, target: str) -> bool:
        shown = subprocess.run(["ninja", "-C", self.build, "-n", target], capture_output=True, text=True)
        return "no work to do" not in shown.stdout

    @staticmethod
    def is_of_ranks(test: dict) -> bool:
        return len(test["command"]) > 1

    def run(self, test: dict, limit: float, cases: str = "*") -> str:
        """Empty where the test passes, else how it fails."""
        environment = {**os.environ, **dict(v.split("=", 1) for v in test["environment"]), "GTEST_FILTER": cases}
        if not self.is_of_ranks(test):  # of which none must wait for another that has stopped
            environment["GTEST_FAIL_FAST"] = "1"
        with subprocess.Popen(test["command"], cwd=test["folder"], env=environment, start_new_session=True,
                              preexec_fn=confine, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                return "" if process.wait(limit) in (0, 77) else f"found by {test['name']}"
            except subprocess.TimeoutExpired:
                return f"found by {test['name']}{SLOW}"
            finally:
                for number in (signal.SIGTERM, signal.SIGKILL):  # the launcher ends its ranks on the first
                    if process.poll() is None:
                        os.killpg(process.pid, number)
                        try:
                            process.wait(5)
                        except subprocess.TimeoutExpired:
                            pass

    def tests_of(self, expression: str) -> list[dict]:
        """The tests of an expression, built and passed once, the quickest first."""
        if expression in self.tests:
            return self.tests[expression]
        shown = subprocess.run(["ctest", "--show-only=json-v1", "-R", expression, "-LE", "gpu|speed|slow"],
                               cwd=self.build, capture_output=True, check=True)
        found = []
        entries = json.loads(shown.stdout)["tests"]
        if not entries:
            sys.exit(f"no test matches {expression}")
        for entry in entries:
            if "command" not in entry:
                sys.exit(f"{entry['name']} is not built")
            properties = {p["name"]: p["value"] for p in entry["properties"]}
            programs = [word for word in entry["command"]
                        if word.startswith(f"{self.build}/") and os.access(word, os.X_OK)
                        and not Path(word).is_dir()]
            found.append({"name": entry["name"], "command": entry["command"],
                          "environment": properties.get("ENVIRONMENT", []),
                          "folder": properties.get("WORKING_DIRECTORY", self.build),
                          "targets": [os.path.relpath(p, self.build) for p in programs]})
        for test in found:
            if not self.make(test["targets"]):
                sys.exit(f"{test['name']} does not build")
            if test["name"] not in self.usual:
                start = time.monotonic()
                if self.run(test, 900):
                    print(f"{test['name']} fails without a mutant, and is left out")
                    continue
                self.usual[test["name"]] = time.monotonic() - start
                self.keep({"test": test["name"], "seconds": self.usual[test["name"]]})
        known = [test for test in found if test["name"] in self.usual]
        self.tests[expression] = sorted(known, key=lambda t: self.usual[t["name"]])
        return self.tests[expression]

    def objects(self, file: str) -> list[str]:
        if file.endswith(".cuh"):
            shown = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True, text=True,
                                   check=True).stdout
            known = re.findall(r"^(\S+): #deps.*\n((?:    .*\n)+)", shown, re.M)
            return [output for output, read in known if f"/{file}\n" in read and (self.build / output).exists()]
        sources = (str(ROOT / file), f"/{file}.cpp")  # the second includes a .cu file for the interpreter
        outputs = [re.search(r" -o (\S+)", c["command"])[1] for c in self.commands if c["file"].endswith(sources)]
        return [output for output in outputs if (self.build / output).exists()]

    def digests(self, objects: list[str]) -> list[str]:
        found = []
        for item in objects:
            plain = self.build / "mutant.o"
            subprocess.run(["objcopy", "--strip-debug", self.build / item, plain], check=True)
            found.append(hashlib.sha256(plain.read_bytes()).hexdigest())
        return found

    def verdict(self, mutant: dict) -> str:
        path = ROOT / mutant["file"]
        operation, technique = mutant["file"].split("/")[1], path.stem.split("_", 1)[-1]
        if operation == "support":
            operation = path.stem.split("_")[0]
        tests = [t for e in AREAS[mutant["area"]][1] for t in self.tests_of(e.replace("{operation}", operation))]
        objects = self.objects(mutant["file"])
        self.make(objects)
        before = self.digests(objects)
        text = path.read_text()
        # As long as the original, so that columns in the object file stay.
        instead = mutant["is"].ljust(mutant["last"] - mutant["first"])
        try:
            path.write_text(text[:mutant["first"]] + instead + text[mutant["last"]:])
            if not self.make(objects):
                return "not compiled"
            if self.digests(objects) == before:
                return "equivalent"
            stale: dict[str, bool] = {}  # programs that have the mutant, before they are linked again
            for test in tests:
                for target in test["targets"]:
                    if target not in stale:
                        stale[target] = self.is_stale(target)
                if test["targets"] and not any(stale[target] for target in test["targets"]):
                    continue
                if not self.make(test["targets"]):
                    return "not compiled"
                limit = max(90, 5 * self.usual[test["name"]])
                # Of a kernel's program what is of this technique, then what is of none, then all.
                of_kernel = test["name"].endswith("_simt")
                for cases in [f"*/{technique}*", "*-*/*", "*"] if of_kernel else ["*"]:
                    found = self.run(test, limit, cases)
                    # On a busy machine ranks may fail by themselves.
                    if found and self.is_of_ranks(test) and not found.endswith(SLOW):
                        found = self.run(test, limit, cases)
                    if found:
                        return found
            return "survived"
        finally:
            path.write_text(text)


def table(lines: list[dict]) -> None:
    judged = {line["id"]: line for line in lines if "id" in line}
    print("area | drawn | not compiled | equivalent | found | survived | %")
    for area in AREAS:
        verdicts = [m["verdict"].split()[0] for m in judged.values() if m["area"] == area]
        found, survived = verdicts.count("found"), verdicts.count("survived")
        if verdicts:
            print(f"{area} | {len(verdicts)} | {verdicts.count('not')} | {verdicts.count('equivalent')} | "
                  f"{found} | {survived} | {100 * found / max(1, found + survived):.0f}")
    for m in judged.values():
        if m["verdict"] == "survived":
            print(f"{m['id']} {m['file']}:{m['line']}: {m['was']!r} -> {m['is']!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--results", type=Path, default=ROOT / "build/mutants.jsonl")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if subprocess.run(["git", "diff", "--quiet"], cwd=ROOT).returncode != 0:
        sys.exit("there are local changes; take a clone of its own")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    judge = Judge(options.build, options.results)
    judged = {line["id"]: line["verdict"] for line in judge.lines if "id" in line}
    counted = 0
    for mutant in draw(options.area, options.seed):
        if counted >= options.count:
            break
        verdict = judged.get(mutant["id"])
        if verdict is None or (options.again and (verdict == "survived" or verdict.endswith(SLOW))):
            start = time.monotonic()
            verdict = judge.verdict(mutant)
            judge.keep({**mutant, "verdict": verdict, "seconds": round(time.monotonic() - start, 1)})
            print(f"{mutant['file']}:{mutant['line']}: {mutant['was']!r} -> {mutant['is']!r}: {verdict}", flush=True)
        counted += verdict.startswith(("found", "survived"))
    table(judge.lines)


if __name__ == "__main__":
    main()
