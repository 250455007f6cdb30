# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""`best` takes what tuning found for this device, type and shape, and nothing else does.

tuned_test.py BINARY LAUNCHER...
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check, read_journal  # noqa: E402


def main():
    program = Program(sys.argv[1:])
    cache = program.folder / "cache"
    (cache / "quadrille").mkdir(parents=True)
    os.environ["XDG_CACHE_HOME"] = str(cache)
    table = cache / "quadrille" / "tuned.toml"

    def measured(*sets, ranks=1):
        """The variant that `best` is."""
        options = ["run.device=host", "run.vendor=off", "run.repetitions=1", "run.warmup.seconds=0", "size=100", *sets]
        process, report, folder = program.run("--case", "gemm", *[word for one in options for word in ("--set", one)],
                                         ranks=ranks)
        check(process.returncode == 0 and len(report["cases"]) == 1, "the case must run", process)
        stored = read_journal(folder)
        return {**report["cases"][0], "stored": next(one["config"] for one in stored if "sizes" in one)}

    # What is faster on a busy machine is not known: of a search it is said how it found, not what.
    def is_searched(found):
        return (found["implementation"] or "").startswith("best: fastest of")

    preferred = measured("run.tuned=off")["variant"]
    check(measured("size=0")["variant"] == preferred, "without work nothing is searched for")
    untuned = measured()
    check(is_searched(untuned), "without a table best is searched for")
    names = {row["name"] for row in program.listed("variants")
             if row["workload"] == "gemm" and row["role"] == "own" and row["where"] != "cuda"}
    # Of those that take the case.
    process, report, _ = program.run("--case", "gemm", "--set", "run.device=host", "--set", "run.vendor=off",
                                     "--set", "run.repetitions=1", "--set", "run.warmup.seconds=0",
                                     "--set", "size=100", "--set", "variant=all")
    check(process.returncode == 0, "the case must run with all variants", process)
    other = min({case["variant"] for case in report["cases"]} & names - {preferred})

    # What a search has found is kept for exactly this case.
    found = table.read_text()
    check('problem = "100 ' in found and f'variant = "{untuned["variant"]}"' in found,
          f"the search must be kept, not {found}")
    # Of two entries, as a table put together by hand may have, the faster one counts.
    table.write_text(found.replace(f'"{untuned["variant"]}"', f'"{other}"') + re.sub("rate = .*", "rate = 1", found))
    again = measured()
    check(again["variant"] == other and "found by an earlier run" in again["implementation"],
          f"best must be what was kept, not {again['implementation']}")
    check(measured("run.tuned=off")["variant"] == preferred, "without the table nothing was kept")
    check(is_searched(measured("size=101")), "of another size nothing was kept")

    def entry(variant, rate, **changes):
        keys = {"operation": "gemm", "device": untuned["device"], "type": "f64", "layout": "nn",
                "shape": "128x128x128", "variant": variant, **changes}
        return "[[tuned]]\n" + "".join(f'{key} = "{value}"\n' for key, value in keys.items()) + f"rate = {rate}\n"

    # The fastest that runs here; what no program knows, or what this device does not run, is passed over.
    table.write_text(entry(other, 2e9) + entry(preferred, 1e9) + entry("from_another_time", 9e9) +
                     entry("tuned_tiles", 8e9, config="BM=64,BN=64,BK=16,TM=8,TN=8"))
    for ranks in (1, 2):
        found = measured(ranks=ranks)
        check(found["variant"] == other, f"best on {ranks} ranks must be what was found: {other}")
        check(f'config = "{other}; {preferred}"' in found["stored"],
              f"the result must name what runs here alone, not {found['stored']}")
    for key in ("run.tuned=off", f"variant={preferred}"):
        check(measured(key)["variant"] == preferred, f"with {key} nothing was found")
    for key in ("size=200", "type=f32", "layout=tn"):
        check(is_searched(measured(key)), f"with {key} nothing was found")

    # Of another device, layout, type or operation.
    for change in ({"device": "another"}, {"layout": "tt"}, {"type": "f32"}, {"operation": "transpose"}):
        table.write_text(entry(other, 2e9, **change))
        check(is_searched(measured()), f"an entry with {change} must not count")

    table.write_text(entry(other, 2e9) + "rate = 1\n")
    process = program.call("run", "--case", "gemm", "--set", "size=100", ranks=1)
    check(process.returncode == 2 and "tuned.toml:" in process.stderr and 'run.tuned = "off"' in process.stderr,
          "a table that cannot be read must be named", process)
    check(measured("run.tuned=off")["variant"] == preferred, "without it the case must run")

    process = program.call("tune", "gemm", "--output", program.folder / "absent" / "tuned.toml", ranks=0)
    check(process.returncode == 2 and not process.stdout and "no file can be written" in process.stderr
          and "FATAL" not in process.stderr, "an absent folder", process)
    print("best takes what tuning found")


if __name__ == "__main__":
    main()
