# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Each input can run on what its [about] names, by a plan for each device and number of ranks, and takes
what it says there. No clock is read: plans assume devices of known rates.

inputs_test.py BINARY LAUNCHER...
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import TESTS, Program, check  # noqa: E402

INPUTS = TESTS.parent / "inputs"
LONGEST = {"host": 100}  # seconds; of GPUs 240
ALL_OF_ONE_GPU, MORE_OF_TWO = 19 * 60, 6 * 60  # seconds
NOT_FOR_2047 = """
[[case]]
name = "not-a-multiple"
workload = "gemm"
type = "f32"
size = [2047, 2048]
variant = ["warp_tile", "best"]
"""


def plan(program, path, device, ranks):
    process = program.call("run", path, "--as", device, "--ranks", ranks, "--json", ranks=0)
    return process, json.loads(process.stdout) if process.stdout.startswith("{") else None


def check_input(program, about, device):
    """Plans for all its numbers of ranks; compares memory and time with what it says."""
    name, path = about["name"], about["path"]
    where = "host" if device == "host" else "device"
    most = 0
    for ranks in about["ranks"]:
        process, planned = plan(program, path, device, ranks)
        said = planned and planned["cannot_run"]
        check(process.returncode == 0 and said == [], f"{name} cannot run on {ranks} x {device}: {said}", process)
        check(planned["ranks"] == ranks, f"{name} is planned for {planned['ranks']} ranks", process)
        most = max([most, *(case["memory"][where] for case in planned["cases"])])
        if ranks == about["ranks"][0] and device in about["seconds"]:
            said, seconds = about["seconds"][device], planned["seconds"]
            # Plans leave out searches and compilers, and know no caches.
            check(said / 10 - 10 <= seconds <= 3 * said + 10, f"{name}: {said} s on {device}, planned {seconds:.0f}")
    if device in about["memory"]:
        said = about["memory"][device]
        check(most <= said <= 2 * most + 2**28, f"{name}: {said / 2**20:.0f} MiB on {device}, planned {most / 2**20:.0f}")


def check_others(program, about, device):
    """What does not run on a device that an input is not for is listed, and is no failure."""
    process = program.call("run", about["path"], "--as", device, ranks=0)
    check(process.returncode == 0, f"{about['name']} on {device}, for which it is not", process)
    told = process.stdout + process.stderr
    is_told = any(word in told for word in ("cannot run", "the input asks for", "unsupported: "))
    check(is_told, f"{about['name']}: nothing says why it is not for {device}", process)


def check_times(listed):
    """All inputs of one GPU, and beside them those of two, end in a bearable time."""
    sums = {1: 0, 2: 0}
    for about in listed:
        for device, seconds in about["seconds"].items():
            limit = LONGEST.get(device, 240)
            check(seconds <= limit, f"{about['name']} takes {seconds} s on {device}, more than {limit}")
        for device in {"host", "H100 SXM"} & set(about["devices"]):
            check(device in about["seconds"], f"{about['name']} does not say how long it takes on {device}")
        first = about["ranks"][0]
        sums[first] += about["seconds"].get("H100 SXM", 0)
        # One GPU takes those, too, that would rather have two.
        sums[1] += about["seconds"].get("H100 SXM", 0) if first == 2 and 1 in about["ranks"] else 0
    check(sums[1] <= ALL_OF_ONE_GPU, f"all inputs of one GPU take {sums[1]} s")
    check(sums[2] <= MORE_OF_TWO, f"those of two take {sums[2]} s")


def check_fails(program, device):
    """A variant that an input names and that cannot run is found, on a device that the input is for."""
    source = INPUTS / "sgemm-worklog.toml"
    changed = program.folder / "changed.toml"
    changed.write_text(source.read_text() + NOT_FOR_2047)
    process, planned = plan(program, changed, device, 1)
    found = [(problem["case"], problem["variant"]) for problem in planned["cannot_run"]]
    check(process.returncode == 3 and found == [("not-a-multiple.1", "warp_tile")], f"found {found}", process)
    process = program.call("run", changed, "--as", device, ranks=0)
    check(process.returncode == 3 and "  not-a-multiple.1 warp_tile: variant 'warp_tile' " in process.stdout,
          "the table names it", process)
    changed.write_text(changed.read_text().replace(f'"{device}", ', ""). replace(f'"{device}" = ', '"H200" = '))
    process, planned = plan(program, changed, device, 1)
    check(process.returncode == 0 and planned["cannot_run"], "it is not for this device", process)
    # Without an [about] it is for any.
    changed.write_text("[run]\n" + NOT_FOR_2047)
    process, planned = plan(program, changed, device, 1)
    check(process.returncode == 3, "a file that does not say what it is for", process)
    for arguments, word in ((("--as", "H100 SMX"), "H100 SXM"), (("--ranks", "2"), "--as")):
        process = program.call("run", source, *arguments, ranks=0)
        check(process.returncode == 2 and word in process.stderr, f"{arguments}", process)


def check_configured(program, device):
    """A kernel that the device's own machine compiles is taken to run there."""
    process, planned = plan(program, INPUTS / "hgemm-ablations.toml", device, 1)
    case = next(case for case in planned["cases"] if case["name"] == "conflicts-none")
    check("mma_tuned" in [variant["name"] for variant in case["variants"]], f"{case}", process)


def check_code(program, devices):
    """Without code for a GPU the plan says what to build for it, and so does the list of devices."""
    listed = program.call("run", "--as", "list", ranks=0).stdout.splitlines()
    has_cuda = any(device["is_gpu"] and device["has_code"] for device in devices)
    for device in devices:
        process = program.call("run", INPUTS / "quickstart.toml", "--as", device["name"], ranks=0)
        told = process.stdout.splitlines()[0]
        line = next(line for line in listed if line.startswith(device["name"] + " "))
        check(("as if built with" in told) == ("no, build" in line) == (not device["has_code"]), told, process)
        for text in () if device["has_code"] else (told, line):
            check(("nvcc" in text) == (not has_cuda), f"{text}, has_cuda is {has_cuda}", process)


def check_here(program, listed):
    process = program.call("list", "inputs", "--here", ranks=0)
    lines = [line.split("\t") for line in process.stdout.splitlines()]
    check(process.returncode == 0 and len({device for _, device, _ in lines}) == 1, "one kind of device", process)
    here = {about["path"]: about for about in listed if lines[0][1] in about["devices"]}
    for ranks, _, path in lines:
        check(int(ranks) in here[path]["ranks"], f"{path} on {ranks} ranks", process)
    shown = program.call("list", "inputs", ranks=0)
    check(all(about["name"] in shown.stdout for about in listed), "the list has all", shown)


def main():
    program = Program(sys.argv[1:])
    listed = program.listed("inputs")
    names = [about["name"] for about in listed]
    check(names == sorted(path.stem for path in INPUTS.glob("*.toml")), f"list inputs has {names}")
    shown = program.call("run", "--as", "list", "--json", ranks=0)
    devices = json.loads(shown.stdout)
    check([device["here"] for device in devices if device["name"] == "host"] == [1], "the host is here", shown)
    pairs = 0
    for about in listed:
        for device in (device["name"] for device in devices):
            is_for_it = device in about["devices"]
            (check_input if is_for_it else check_others)(program, about, device)
            pairs += is_for_it
    check_times(listed)
    check_here(program, listed)
    check_fails(program, "H100 SXM")
    check_configured(program, "H100 SXM")
    check_code(program, devices)
    print(f"{len(listed)} inputs run on the devices that they are for, in {pairs} pairs")


main()
