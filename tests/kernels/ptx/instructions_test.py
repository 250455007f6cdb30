#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of this folder to PTX and compares the instructions of the wrappers in
kernels/common/ptx with the lists in expected/, which a person has compared with the PTX manual:
without a GPU nothing else sees nvcc's half of the wrappers.

With another architecture than 90a: they have the same instructions but those that it lacks, and
ptxas takes them and kernels of every kind, so that a program for several architectures builds.

instructions_test.py SOURCE_DIR [NVCC] [--architecture 80|100 | --update]
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Most instructions first, so that compilers that run side by side end together.
TOPICS = ["wgmma_kernels", "wgmma_f16_cases", "matrix_kernels", "atomics_kernels",
          "barriers_kernels", "bulk_copies_kernels", "clusters_kernels", "copies_kernels",
          "threads_kernels"]
# One kernel each: plain, with mma, tensor copies, clusters, wgmma. The last two need sm_90.
KERNELS = ["vector/vector_vectorized", "gemm/tensor_cores/gemm_half_async", "transpose/transpose_bulk_tensor",
           "gemm/hopper/gemm_wgmma_multicast", "peak/peak_wgmma_loop"]
ONLY_SM90A = r"wgmma|setmaxnreg|multicast"
SINCE_SM90 = (r"stmatrix|mma\.sync\.aligned\.m16n8k\d+\.\S+\.f64|(?<!async\.)mbarrier\.(arrive|expect_tx|try_wait)"
              r"|fence\.(mbarrier|proxy)|cp\.(reduce\.)?async\.bulk|tensormap|cluster|mapa|elect"
              r"|griddepcontrol")
LACKED = {"80": re.compile(f"{ONLY_SM90A}|{SINCE_SM90}"), "100": re.compile(ONLY_SM90A)}
ASM = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.S)
REGISTER = re.compile(r"(%(?:r|rd|rs|f|fd|p))\d+\b")
# A vector of more than three registers of one kind.
VECTOR = re.compile(r"\{(%\w+?)\d+(?:, \1\d+){3,}\}")
# An access with its order and scope.
ORDERED = re.compile(r"(atom|red|ld|st)\.(\w+)\.(cta|gpu|sys)\.(.*)")
ALTERNATIVES = re.compile(r"\.\{([\w,]+)\}")


def plain(instruction):
    """One line, with registers numbered as they appear in it and long vectors counted."""
    line = " ".join(instruction.split())
    line = VECTOR.sub(lambda m: "{%s x %d}" % (m[1], len(set(m[0].split(", ")))), line)
    names = {}
    return REGISTER.sub(lambda m: names.setdefault(m[0], f"{m[1]}{len(names)}"), line)


def instructions(ptx):
    """For each kernel, by its name, its instructions in order, each once: what is unrolled, and how
    often, is nvcc's business."""
    kernels = {}
    for body in re.split(r"\.entry ", ptx)[1:]:
        name, body = body.split("(", 1)
        found = [plain(text) for text in ASM.findall(body) if text.strip()]
        kernels[name] = list(dict.fromkeys(found))
    readable = subprocess.run(["c++filt"], input="\n".join(kernels), text=True, check=True,
                              stdout=subprocess.PIPE).stdout.splitlines()
    named = {}
    for name, found in zip(readable, kernels.values()):
        name = re.sub(r"\(anonymous namespace\)::|\w+::", "", name)
        named[re.sub(r"^void |\([^()]*\)$", "", name)] = found
    return named


def alternatives(words):
    words = list(dict.fromkeys(words))
    return words[0] if len(words) == 1 else "{%s}" % ",".join(words)


def folded(found):
    """Instructions that differ in order and scope alone as one, with braces as of a shell, where all
    pairs are there."""
    groups = {}
    for line in found:
        match = ORDERED.match(line)
        groups.setdefault((match[1], match[4]) if match else line, []).append(match)
    lines = []
    for key, matches in groups.items():
        if matches[0] is None:
            lines.append(key)
            continue
        orders, scopes = ([match[i] for match in matches] for i in (2, 3))
        if len(matches) == len(set(orders)) * len(set(scopes)):
            lines.append(f"{key[0]}.{alternatives(orders)}.{alternatives(scopes)}.{key[1]}")
        else:
            lines += [match[0] for match in matches]
    return lines


def unfolded(line):
    """What folded() made one line of."""
    match = ALTERNATIVES.search(line)
    if match is None:
        return [line]
    return [found for word in match[1].split(",")
            for found in unfolded(f"{line[:match.start()]}.{word}{line[match.end():]}")]


def text_of(kernels):
    """Under NAME<*>, what all instances of a template have; under their own names what else they have."""
    kernels = {name: folded(found) for name, found in kernels.items() if found}
    templates = {}
    for name in kernels:
        if "<" in name:
            templates.setdefault(name.split("<")[0] + "<*>", []).append(name)
    for every, names in templates.items():
        if len(names) > 1:
            shared = [line for line in kernels[names[0]] if all(line in kernels[name] for name in names)]
            for name in names:
                kernels[name] = [line for line in kernels[name] if line not in shared]
            if shared:
                kernels[every] = shared
    return "".join(name + "\n" + "".join(f"  {line}\n" for line in found)
                   for name, found in sorted(kernels.items()))


def parsed(text):
    """What text_of() was given."""
    kernels = {}
    for line in text.splitlines():
        if not line.startswith("  "):
            kernels[line] = found = []
        else:
            found += unfolded(line[2:])
    for every in [name for name in kernels if name.endswith("<*>")]:
        shared = kernels.pop(every)
        for name, found in kernels.items():
            if name.startswith(every[:-2]):
                found += shared
    return kernels


def differences(want, got, lacked):
    """How the instructions for an architecture that lacks some differ from those for sm_90a, in any
    order. A wrapper without its instruction traps, and what comes after a trap need not be there."""
    lines = []
    want, got = parsed(want), parsed(got)
    for name in sorted(want.keys() | got.keys()):
        full, found = want.get(name, []), set(got.get(name, [])) - {"trap;"}
        there = {line for line in full if not lacked.search(line)}
        lines += [f"{name}: has {line}" for line in sorted(found - there)]
        if len(there) == len(full):
            lines += [f"{name}: lacks {line}" for line in sorted(there - found)]
    return lines


def compile_for(architecture, nvcc, source, file, folder):
    """PTX of one file, which ptxas accepts."""
    out = pathlib.Path(folder) / f"{file.stem}.ptx"
    subprocess.run([nvcc, "-std=c++20", f"-arch=compute_{architecture}", "-Xcicc", "-O1", "-ptx",
                    "-o", out, f"-I{source}/kernels", f"-I{source}/src", f"-I{source}/tests",
                    "-x", "cu", source / file], check=True)
    if architecture in LACKED:
        subprocess.run([pathlib.Path(nvcc).with_name("ptxas"), f"-arch=sm_{architecture}", "-O0", "-Werror",
                        out, "-o", out.with_suffix(".cubin")], check=True)
    return text_of(instructions(out.read_text()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("nvcc", nargs="?", default="nvcc")
    parser.add_argument("--architecture", choices=LACKED, default="90a")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    nvcc = shutil.which(options.nvcc)
    if nvcc is None:
        print("skipped: no nvcc")
        return SKIPPED
    lacked = LACKED.get(options.architecture)
    tests = pathlib.Path("tests/kernels/ptx")
    files = [tests / f"{topic}.cu" for topic in TOPICS]
    if lacked:
        files += [pathlib.Path("kernels") / f"{kernel}.cu" for kernel in KERNELS]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(lambda file: compile_for(options.architecture, nvcc, options.source,
                                                     file, folder), files)
        for file, got in zip(files, compiled):
            path = options.source / tests / "expected" / f"{file.stem}.txt"
            if file.parent != tests:
                continue
            if options.update:
                path.write_text(got)
                continue
            want = path.read_text()
            lines = differences(want, got, lacked) if lacked else difflib.unified_diff(
                want.splitlines(), got.splitlines(), str(path), "compiled", lineterm="")
            for line in lines:
                wrong += 1
                print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
