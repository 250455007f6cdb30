# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one message that says what to change, the promised exit code, and no work.

bad_input_test.py BINARY LAUNCHER...
"""
import concurrent.futures
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from quadrille import Program, check  # noqa: E402

GOOD = """
[run]
device = "host"
repetitions = 1
warmup = { count = 1, seconds = 0 }
vendor = "off"

[[case]]
name = "square"
workload = "summa"
size = "64"
panel = 16
variant = "kokkos"
"""
LARGE = '[[case]]\nworkload = "decoder"\ntype = "f32"\nsize = "(64,64Ki,8192,64,64,32768)"\nlayers = 40\n'
SERVING = '[run]\ndevice = "host"\n[[case]]\nworkload = "serving"\ntype = "f16"\nsize = 10\n'


def main():
    program = Program(sys.argv[1:])
    source = program.folder / "input.toml"

    def refused(number, text, arguments, code, words):
        """The run ends with `code` and one line on stderr that has all the words."""
        folder = program.folder / str(number)
        folder.mkdir()
        (folder / "input.toml").write_text(text)
        process, report, _ = program.run(folder / "input.toml", *arguments, ranks=2, timeout=60)
        check(process.returncode == code, f"expected exit {code} for {words}", process)
        lines = [line for line in process.stderr.splitlines() if line.startswith(("quadrille:", "FATAL"))]
        check(len(lines) == 1, f"expected one message, saw {lines}", process)
        for word in words:
            check(word in lines[0], f"'{word}' is missing in: {lines[0]}", process)
        check("RESULT" not in process.stdout and report is None, "nothing may run", process)

    trace = program.folder / "trace.csv"
    trace.write_text("arrival_s,prompt,output\n2,10,10\n1,10,10\n")
    pipe = program.folder / "pipe"
    os.mkfifo(pipe)
    bad = [
        (GOOD + 'panle = 3\n', [], 2, ["input.toml:", "panle", "panel"]),
        (GOOD.replace('"64"', "true"), [], 2, ["input.toml:", "size"]),
        (GOOD.replace('"64"', '"64K"'), [], 2, ["Ki", "k"]),
        (GOOD.replace("summa", "suma"), [], 2, ["suma", "summa"]),
        (GOOD.replace('"kokkos"', '"kokos"'), [], 2, ["kokos", "kokkos"]),
        (GOOD + 'grid = "2x2"\n', [], 2, ["2x2", "1x2", "2x1"]),
        (GOOD + 'layers = 3\n', [], 2, ["square", "layers", "3", "2"]),
        (GOOD + 'layers = 2\ngrid = "1x2"\n', [], 2, ["square", "grid", "1x2", "1x1"]),
        (GOOD + 'schedule = "canon"\n', [], 2, ["canon", "cannon"]),
        (GOOD + 'sms = 1\n', [], 2, ["square", "sms", "1", "2"]),
        (GOOD.replace('"64"', '"(1,2,3,4)"'), [], 2, ["size"]),
        (GOOD.replace('"64"', '"8Mi"'), [], 3, ["square", "GiB", "auto:"]),
        (GOOD, ["--set", "run.sead=3"], 2, ["sead", "seed"]),
        (GOOD, ["--set", "sqare.panel=3"], 2, ["sqare", "square"]),
        (GOOD, ["--only", "sqare"], 2, ["sqare", "square"]),
        (GOOD, ["--inject-fault", "nam"], 2, ["nam", "nan"]),
        (GOOD, ["--set", "run.repetitions=0"], 2, ["repetitions"]),
        (GOOD, ["--set", "run.chunk_bytes=2GiB"], 2, ["chunk_bytes", "1073741824", "2GiB"]),
        (GOOD, ["--set", "run.output=/proc/nowhere"], 3, ["/proc/nowhere", "run.output"]),
        ('[[case]]\nworkload = "integral"\nsize = 0\n', [], 2, ["integral", "size", "1", "2251799813685248"]),
        ('[[case]]\nworkload = "gemm"\nsize = 8\ntype = ["f32", "f64"]\nout = ["auto", "f32"]\n', [], 2,
         ["input.toml:", "gemm", "f64", "out", "f32"]),
        ('[[case]]\nworkload = "gemm"\nsize = 8\ntype = "f16"\nout = "bf16"\n', [], 2,
         ["gemm", "f16", "f32", "out"]),
        ('[run]\ndevice = "host"\n[[case]]\nworkload = "peak"\nsize = 5\nvariant = "all"\n', [], 2,
         ["peak", "2Mi"]),
        ("[run\n", [], 2, ["input.toml:"]),
        (GOOD, ["--set", "square.transport=nccl"], 2, ["square", "transport", "nccl", "ipc"]),
        (GOOD, ["--set", "run.device=cuda"], 3, ["cuda"]),
        (GOOD, ["--device-map", "0,1"], 2, ["device_map", "device", "host"]),
        (GOOD.replace('"host"', '"auto"'), ["--device-map", "GPU-none,GPU-one"], 3, ["device_map"]),
        (GOOD, ["--device-map", "0,,1"], 2, ["device_map", "0,,1"]),
        ('[[case]]\nworkload = "conv2d"\ntype = "f32"\nsize = "(1,3,5,9,4,7,7)"\n', [], 2,
         ["conv2d", "7 x 7", "5 x 9", "padding"]),
        ('[[case]]\nworkload = "gemm"\nsize = 64\ngroups_by = "pointers"\n', [], 2,
         ["groups_by", "pointers", "groups of 2"]),
        ('[[case]]\nworkload = "conv2d"\ntype = "f32"\nsize = "(1,6,9,9,4,3,3)"\ngroups = 3\n', [], 2,
         ["conv2d", "groups", "3", "6", "4"]),
        ('[[case]]\nworkload = "conv2d"\nsize = "(1,6,9,9,4,3,3)"\n', [], 2, ["type", "f32", "f16", "bf16"]),
        ('[[case]]\nworkload = "vector"\nsize = 8\nphases = true\n', [], 2,
         ["vector", "operation", "quadratic"]),
        ('[[case]]\nworkload = "conv2d_halo"\ntype = "f32"\nsize = "(1,3,5,9,4,7,7)"\n', [], 2,
         ["conv2d_halo", "padding"]),
        ('[[case]]\nworkload = "conv2d_halo"\ntype = "f32"\nsize = "(2,3,9,9,4,3,3)"\ngrid = "1x1"\n'
         'split = "batch"\n', [], 2, ["conv2d_halo", "grid", "batch"]),
        ('[[case]]\nworkload = "attention"\ntype = "f16"\nsize = "(1,6,4,9,9,64)"\n', [], 2,
         ["attention", "kv_heads", "4", "6"]),
        ('[[case]]\nworkload = "attention"\ntype = "f16"\nsize = "(1,4,4,9,9,80)"\n', [], 2,
         ["head_size", "80", "64", "128"]),
        ('[[case]]\nworkload = "attention"\nsize = "(1,4,4,9,9,64)"\n', [], 2, ["type", "f32", "f16", "bf16"]),
        ('[[case]]\nworkload = "ring_attention"\ntype = "f16"\nsize = "(1,6,4,9,64)"\n', [], 2,
         ["ring_attention", "kv_heads", "4", "6"]),
        ('[[case]]\nworkload = "ring_attention"\nsize = "(1,4,4,9,64)"\n', [], 2, ["type", "f32", "f16", "bf16"]),
        ('[[case]]\nworkload = "ring_attention"\ntype = "f16"\nsize = "(1,4,4,9,64)"\npartition = "blocks"\n', [], 2,
         ["partition", "blocks", "zigzag", "striped"]),
        ('[[case]]\nworkload = "paged_decode"\ntype = "f16"\nsize = "(2,4,2,9,64)"\nkv = "latent"\n', [], 2,
         ["paged_decode", "latent", "kv_heads = 1", "head_size = 576"]),
        ('[[case]]\nworkload = "paged_decode"\ntype = "f16"\nsize = "(2,4,2,9,64)"\nblock_size = 12\n', [], 2,
         ["paged_decode", "block_size", "12", "8", "16", "32", "64", "128"]),
        ('[[case]]\nworkload = "attention"\ntype = "f16"\nsize = "auto:70%"\n', [], 2,
         ["attention", "auto", "(batch,heads,kv_heads,queries,keys,head_size)"]),
        (LARGE, [], 3, ["decoder", "TiB", "smaller"]),
        (LARGE.replace("f32", "f64"), [], 2, ["decoder", "f64", "take f32, f16, bf16"]),
        ('[[case]]\nworkload = "decoder"\ntype = "f32"\nsize = "(2,9,100,3,1,64)"\n', [], 2,
         ["decoder", "heads", "3", "100", "divisor"]),
        ('[[case]]\nworkload = "decoder"\ntype = "f32"\nsize = "(2,9,96,3,1,64)"\n', [], 2,
         ["decoder", "head_size", "32", "64", "128"]),
        ('[[case]]\nworkload = "sampler"\ntype = "f16"\nsize = "(2,200)"\ntop_k = 201\n', [], 2,
         ["sampler", "top_k", "201", "200"]),
        ('[[case]]\nworkload = "sampler"\ntype = "f16"\nsize = "(2,3)"\nbeams = 4\n', [], 2, ["sampler", "4 beams", "3"]),
        ('[[case]]\nworkload = "sampler"\ntype = "f16"\nsize = "(2,30)"\nbeams = 4\ntop_k = 5\n', [], 2,
         ["sampler", "beams", "top_k"]),
        ('[[case]]\nworkload = "rowwise"\ntype = "f16"\nsize = "(2,200)"\noperation = "rotary"\n', [], 2,
         ["rowwise", "200", "128", "multiple"]),
        ('[[case]]\nworkload = "rowwise"\ntype = "f16"\nsize = "(2,64)"\noperation = "gelu"\nresidual = true\n', [], 2,
         ["rowwise", "residual", "norms"]),
        ('[[case]]\nworkload = "kv_cache"\ntype = "f16"\nsize = "(2,9,2,96)"\n', [], 2,
         ["kv_cache", "head_size", "96", "64", "128", "256"]),
        (SERVING + "rate = 0\n", [], 2, ["serving", "rate", "0"]),
        (SERVING + "rate = 1e-9\n", [], 2, ["serving", "rate = 1e-09", "1e+09 s"]),
        (SERVING.replace("f16", "f64"), [], 2, ["serving", "f64", "take f16, bf16, f32"]),
        (SERVING + 'output_tokens = "normal 5"\n', [], 2, ["serving", "output_tokens", "normal 5", "lognormal"]),
        (SERVING + 'kv_memory = "1Gi"\n', [], 2, ["kv_memory", "1296", "2064", "max_length"]),
        (SERVING + 'model = "fast"\n', [], 2, ["fast", "measured", "stated:"]),
        (SERVING + "kv_heads = 3\n", [], 2, ["kv_heads", "3", "heads", "40"]),
        (SERVING + "samples = 300\n", [], 2, ["samples", "300", "max_running", "256"]),
        (SERVING + 'model = "measured"\nhead_size = 80\n', [], 2, ["serving", "head_size", "64", "128"]),
        (SERVING + 'model = "measured"\nblock_size = 4\n', [], 2, ["serving", "block_size", "4"]),
        (SERVING + 'execution = "executed"\nhead_size = 80\n', [], 2, ["serving", "execution", "head_size", "64", "128"]),
        (SERVING + 'execution = "executed"\nvocabulary = 0\n', [], 2, ["vocabulary", "0"]),
        (SERVING + 'kv_share = 0.5\n', [], 2, ["serving", "kv_share", "executed"]),
        (SERVING + 'execution = "executed"\nkv_share = 2\n', [], 2, ["serving", "kv_share", "2"]),
        (SERVING + 'execution = "executed"\ntemperature = -1\n', [], 2, ["serving", "temperature", "-1"]),
        (SERVING + 'beam_search = true\nsamples = 5\nvocabulary = 4\n', [], 2, ["beam_search", "samples = 5", "4", "vocabulary"]),
        (SERVING + 'beam_search = true\nsamples = 33\n', [], 2, ["beam_search", "33", "32"]),
        (SERVING + 'beam_search = true\nsamples = 8\n', [], 2, ["kv_memory", "8 beams", "14336", "2048", "16512"]),
        (SERVING + 'beam_search = true\nsamples = 2\ntemperature = 0\n', [], 2, ["beam_search", "temperature"]),
        (SERVING.replace("serving", "parallel_serving") + 'execution = "simulated"\n', [], 2, ["execution"]),
        (SERVING + 'trace = "/nowhere.csv"\n', [], 2, ["serving", "trace", "/nowhere.csv"]),
        *((SERVING + f'trace = "{path}"\n', [], 2, ["serving", "trace", path])
          for path in ("/dev/zero", "/", str(pipe))),
        (SERVING + f'trace = "{trace}"\n', [], 2, ["serving", "trace", str(trace), "3"]),
        (GOOD.replace("summa", "gemm").replace("panel = 16", 'config = "tund_tiles BM=1"'), [], 2,
         ["config", "tund_tiles", "tuned_tiles"]),
        (GOOD.replace("summa", "gemm").replace("panel = 16", 'config = "tuned_tiles BM=big"'), [], 2,
         ["config", "tuned_tiles", "BM=big"]),
        (GOOD.replace("summa", "gemm").replace("panel = 16", 'config = "naive BM=8"'), [], 2,
         ["config", "naive"]),
        (GOOD.replace("summa", "gemm").replace("panel = 16", 'config = "; x"'), [], 2, ["config", "NAME=VALUE"]),
    ]
    # The launcher waits longer than the program works.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda number: refused(number, *bad[number]), range(len(bad))):
            pass

    # What is there already stays, unless one says so.
    source.write_text(GOOD)
    first, report, directory = program.run(source, ranks=2)
    check(first.returncode == 0 and report, "the good input must pass", first)
    before = (directory / "result.h5").read_bytes()
    second = program.call("run", source, "--run-id", directory.name, "--set", f"run.output={program.folder}", ranks=2)
    check(second.returncode == 3 and "--force" in second.stderr, "an existing run must be refused", second)
    check((directory / "result.h5").read_bytes() == before, "the existing result was touched")
    for name in ("../evil", ".", "a/b"):
        evil = program.call("run", source, "--run-id", name, "--force", "--set", f"run.output={directory}", ranks=2)
        check(evil.returncode == 2 and "--run-id" in evil.stderr, f"'{name}' leaves run.output", evil)
    check((directory / "result.h5").exists() and not (program.folder / "evil").exists(), "nothing was touched")
    begun = directory / "config.toml.tmp.1"
    begun.write_text("of a run that was killed")
    third = program.call("run", source, "--run-id", directory.name, "--set", f"run.output={program.folder}", "--force",
                         ranks=2)
    check(third.returncode == 0, "--force must overwrite", third)
    check(not begun.exists(), "what a killed run had begun is left")

    # No end, nothing, and a folder.
    for path, word in (("/dev/zero", "32 MiB"), ("/dev/null", "cannot read"), (program.folder, "cannot read")):
        endless = program.call("run", path, ranks=1, timeout=60)
        check(endless.returncode == 2 and word in endless.stderr, f"{path} is no input", endless)
    hostile = program.call("run", source, "--set", "square.name\x1b[2J\n=3", ranks=1)
    check(hostile.returncode == 2 and "\x1b" not in hostile.stderr and "\\x1b[2J\\x0a" in hostile.stderr,
          "a terminal shows what somebody wrote, and obeys none of it", hostile)

    # A dry run says what fits, and writes nothing.
    source.write_text(GOOD.replace('"64"', '"auto:10%"'))
    entries = len(os.listdir(program.folder))
    dry = program.call("run", source, "--dry-run", "--set", f"run.output={program.folder}", ranks=2)
    check(dry.returncode == 0 and "square" in dry.stdout, "a dry run must show the plan", dry)
    check(len(os.listdir(program.folder)) == entries, "a dry run must write nothing", dry)

    # The resolved configuration is valid input.
    source.write_text(GOOD)
    shown = program.call("run", source, "--print-config", ranks=1)
    check(shown.returncode == 0, "--print-config must work", shown)
    source.write_text(shown.stdout)
    again = program.call("run", source, "--print-config", ranks=1)
    check(again.stdout == shown.stdout, "the resolved configuration must resolve to itself", again)

    # Files that are no results.
    for size in (0, 8, 100, 4096, len(before) - 1):
        broken = program.folder / "broken.h5"
        broken.write_bytes(before[:size])
        process = program.call("report", broken, ranks=0)
        check(process.returncode == 2 and "broken.h5" in process.stderr and not process.stdout,
              f"a result cut to {size} bytes must be refused", process)
    process = program.call("report", program.folder / "missing.h5", ranks=0)
    check(process.returncode == 2 and "missing.h5" in process.stderr, "a missing result must be refused", process)
    process = program.call("run", "--no-such-option", ranks=2)
    check(process.returncode == 2, "an unknown option is a usage error", process)
    for arguments, ranks, code, words in [
        (["gemm", "--set", "size=64", "--set", "run.device=host"], 1, 3, "gemm"),
        (["integral", "--set", "size=64"], 1, 3, "integral"),
        (["gem", "--set", "size=64"], 1, 2, "'gemm'"),
        (["gemm"], 1, 2, "size"),
        (["gemm", "--set", "size=64"], 2, 2, "one rank"),
        (["gemm", "--set", "size=64", "--output", source], 1, 2, "input.toml"),
    ]:
        process = program.call("tune", *arguments, ranks=ranks)
        said = [line for line in process.stderr.splitlines() if line.startswith(("quadrille:", "FATAL"))]
        check(process.returncode == code and len(said) == 1 and words in said[0],
              f"tune {arguments} must end with {code} and '{words}'", process)
    process = program.call("explain", "hiden", ranks=0)
    check(process.returncode == 2 and "hidden" in process.stderr, "the nearest name must be offered", process)
    print("bad input is refused as promised")


main()
