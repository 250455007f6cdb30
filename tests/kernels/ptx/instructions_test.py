#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of this folder to PTX and compares the instructions of the wrappers in
kernels/common/ptx with the lists in expected/, which a person has compared with the PTX manual:
without a GPU nothing else sees nvcc's half of the wrappers.

instructions_test.py SOURCE_DIR [NVCC] [--update]
"""

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
ASM = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.S)
REGISTER = re.compile(r"(%(?:r|rd|rs|f|fd|p))\d+\b")
# A vector of more than three registers of one kind.
VECTOR = re.compile(r"\{(%\w+?)\d+(?:, \1\d+){3,}\}")


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


def text_of(kernels):
    return "".join(name + "\n" + "".join(f"  {line}\n" for line in found)
                   for name, found in sorted(kernels.items()) if found)


def compile_to_ptx(nvcc, source, topic, folder):
    out = pathlib.Path(folder) / f"{topic}.ptx"
    subprocess.run([nvcc, "-std=c++20", "-arch=compute_90a", "-Xcicc", "-O1", "-ptx", "-o", out,
                    f"-I{source}/kernels", f"-I{source}/src", f"-I{source}/tests", "-x", "cu",
                    source / "tests/kernels/ptx" / f"{topic}.cu"], check=True)
    return text_of(instructions(out.read_text()))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    source = pathlib.Path(arguments[0])
    nvcc = shutil.which(arguments[1] if len(arguments) > 1 else "nvcc")
    if nvcc is None:
        print("skipped: no nvcc")
        return SKIPPED
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(lambda topic: compile_to_ptx(nvcc, source, topic, folder), TOPICS)
        for topic, got in zip(TOPICS, compiled):
            path = source / "tests/kernels/ptx/expected" / f"{topic}.txt"
            if "--update" in sys.argv:
                path.write_text(got)
                continue
            want = path.read_text()
            for line in difflib.unified_diff(want.splitlines(), got.splitlines(), str(path),
                                             "compiled", lineterm=""):
                wrong += 1
                print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
