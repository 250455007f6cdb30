# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Help, completion and manual say the same: every command and option, from the same tables.

help_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402


class Shells:
    """What shells offer for an unfinished line."""

    def __init__(self, program):
        self.folder = program.folder
        for shell in ("bash", "zsh"):
            shown = program.call("completion", shell, ranks=0)
            check(shown.returncode == 0, f"completion {shell}", shown)
            (self.folder / f"_quadrille.{shell}").write_text(shown.stdout)

    def bash(self, *words):
        script = (f"source {self.folder}/_quadrille.bash; COMP_WORDS=(quadrille \"$@\"); COMP_CWORD=$#; "
                  "compopt() { :; }; _quadrille; printf '%s\\n' \"${COMPREPLY[@]}\"")
        process = subprocess.run(["bash", "-c", script, "bash", *words], text=True, capture_output=True,
                                 cwd=self.folder, timeout=60)
        check(process.returncode == 0 and not process.stderr, f"completion of {words}", process)
        return process.stdout.split()


def in_bash_itself(shells):
    """What bash makes of an unfinished line and the key of completion, with words broken by bash."""
    master, slave = pty.openpty()
    process = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=slave, stdout=slave, stderr=slave,
                               cwd=shells.folder, start_new_session=True, env={**os.environ, "TERM": "dumb"})
    os.close(slave)
    os.write(master, f"source {shells.folder}/_quadrille.bash\n".encode())
    seen = ""
    for typed, wanted in (("run --case gemm --set variant=thread_tile_1d_nat", "variant=thread_tile_1d_natural_order"),
                          ("run --case=gem", "--case=gemm"), ("run --only vect", "--only vector"),
                          ("list variants ring_att", "list variants ring_attention")):
        os.write(master, f"quadrille {typed}\t".encode())
        while wanted not in seen:
            check(select.select([master], [], [], 60)[0], f"bash makes nothing of '{typed}': {seen}")
            seen += os.read(master, 4096).decode()
        os.write(master, b"\x15")  # away with the line
    process.kill()
    process.wait()
    os.close(master)


def options_of(text):
    """The options of a --help."""
    return {name for line in text.splitlines() if re.match(r" {2,8}-", line)
            for name in re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.split(r"\s{2,}", line.strip())[0])}


def main():
    program = Program(sys.argv[1:])
    top = program.call("--help", ranks=0)
    commands = re.findall(r"^  ([a-z]+) {2,}", top.stdout[top.stdout.index("Subcommands:"):], re.MULTILINE)
    check(len(commands) >= 12 and "rerun" in commands, f"commands are {commands}", top)

    shells = Shells(program)
    (shells.folder / "an_input.toml").write_text("")
    zsh = (shells.folder / "_quadrille.zsh").read_text()
    manual = program.call("man", ranks=0).stdout
    plain = manual.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    check(set(commands) <= set(shells.bash("")), f"bash offers {shells.bash('')}")
    check(shells.bash("rer") == ["rerun"], f"bash makes of rer {shells.bash('rer')}")
    for command in commands:
        shown = program.call(command, "--help", ranks=0)
        check(shown.returncode == 0 and "Example" in shown.stdout, f"{command} --help has an example", shown)
        for example in re.findall(r"quadrille ([a-z]+)", shown.stdout[shown.stdout.index("Example"):]):
            check(example in commands, f"the example of {command} names {example}", shown)
        options = options_of(shown.stdout)
        check("--help" in options, f"options of {command} are {options}", shown)
        offered = set(shells.bash(command, "-"))
        check(options == offered, f"bash offers {offered} for {command}, --help {options}")
        section = plain[plain.index(f"\n.SS {command}\n"):].split("\n.SS ", 2)[1]
        case = zsh[zsh.index(f"    {command}) _arguments"):].split(" ;;", 1)[0]
        for option in options:
            check(re.search(rf"^(?:.*, )?{option}(?:[, ]|$)", section, re.MULTILINE), f"man: {command} {option}")
            check(f"{option}[" in case, f"zsh: {command} {option}")

    for words in [[command, "--help"] for command in commands] + [["--help"], ["list", "variants"], ["explain"]]:
        for columns in (80, 100):
            shown = program.call(*words, ranks=0, env={**os.environ, "COLUMNS": str(columns)})
            widest = max(shown.stdout.splitlines(), key=len)
            check(shown.returncode == 0 and len(widest) <= columns, f"{words} in {columns} columns: {widest}", shown)
    for words, why in ((["rnu", "a.toml"], "unknown command 'rnu' (did you mean 'run'?)"),
                       (["run", "--casse=gemm"], "unknown option '--casse' (did you mean '--case'?)"),
                       (["--verison"], "unknown option '--verison' (did you mean '--version'?)"),
                       (["list", "variantz"],
                        "transports, metrics, counters, faults (did you mean 'variants'?); `quadrille list --help` shows"),
                       (["list", "nothing-like-it"], "'nothing-like-it' is none of workloads, "),
                       (["run", "--case", "vector", "--inject-fault", "nann"], "misplaced_wait (did you mean 'nan'?)"),
                       (["completion", "bsh"], "'bsh' is none of bash, zsh (did you mean 'bash'?)"),
                       (["list", "variants", "gem"], "(did you mean 'gemm'?)"),
                       (["list", "faults", "gemm"], "choose among variants"),
                       (["list", "variants", "gemm", "more"], "unexpected argument 'more';"), ([], "subcommand is required")):
        shown = program.call(*words, ranks=0)
        check(shown.returncode == 2 and why in shown.stderr and len(shown.stderr.splitlines()) == 1, why, shown)

    listed = {what: {row["name"] for row in program.listed(what)} for what in ("workloads", "faults")}
    variants = {"best", "all"} | {row["name"] for row in program.listed("variants") if row["workload"] == "vector"}
    warp_tiles = {"warp_tile_block_swizzle", "warp_tile_64x64x8"}
    for words, wanted in ((("run", "--case", ""), listed["workloads"]), (("run", "--inject-fault", ""), listed["faults"]),
                          (("list", ""), {"workloads", "variants", "inputs", "sources", "transports", "metrics", "counters",
                                           "faults"}),
                          (("completion", ""), {"bash", "zsh"}), (("tune", ""), {"gemm"}),
                          (("run", "--set", "run.se"), {"run.seed="}), (("run", "--set", "pan"), {"panel="}),
                          (("explain", "warp_tile_"), warp_tiles), (("report", "an_"), {"an_input.toml"}),
                          (("run", "an_"), {"an_input.toml"}), (("run", "--set", "run.seed", "=", "1"), set()),
                          (("list", "variants", ""), listed["workloads"]), (("list", "--type", "f32", "variants", "gem"), {"gemm"}),
                          (("run", "--only", "vec"), {"vector"}), (("report", "a", "b", "an_"), {"an_input.toml"}),
                          (("run", "--case", "vector", "--set", "variant", "="), variants),
                          (("run", "--case", "=", "vector", "--set", "variant", "=", ""), variants),
                          (("run", "--set", "vector.type", "=", "f1"), {"f16"}),
                          (("run", "--set", "transport", "=", "ip"), {"ipc"}),
                          (("run", "--set", "variant", "=", "warp_tile_"), warp_tiles),
                          (("run", "--set", "type", "=", "f1", "--set", "run.se"), {"run.seed="})):
        check(set(shells.bash(*words)) == wanted, f"bash offers {shells.bash(*words)} for {words}")
    in_bash_itself(shells)
    if shutil.which("zsh"):
        process = subprocess.run(["zsh", "-f", "-n", shells.folder / "_quadrille.zsh"], text=True, capture_output=True)
        check(process.returncode == 0, "zsh reads its completion", process)
        script = ("autoload -U compinit && compinit -u -D && source " + str(shells.folder / "_quadrille.zsh") +
                  " && print $_comps[quadrille]")
        process = subprocess.run(["zsh", "-f", "-c", script], text=True, capture_output=True)
        check(process.stdout.strip() == "_quadrille" and not process.stderr, "zsh takes its completion", process)
    if shutil.which("groff"):
        process = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=manual, text=True, capture_output=True)
        check(process.returncode == 0 and not process.stderr, "the manual is roff", process)
    for heading in ("EXIT CODES", "TUNING", "NAME", "SYNOPSIS"):
        check(f"\n.SH {heading}\n" in manual, f"the manual has no {heading}")
    print("help, completion and manual agree")


main()
