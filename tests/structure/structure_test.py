#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree: structure_test.py CHECK ROOT [BINARY]; exit 77 where a tool is missing.

Every check is a function from the root of a tree to a list of violations, one line each.
self_test breaks a small tree on purpose and expects each check to see it.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SKIPPED = 77

# What each folder under src/ may include, itself aside; kernels/ counts as one folder.
LAYERS = {
    "core": [],
    "device": ["core"],
    "kernels": ["core", "device"],
    "comm": ["core", "device", "kernels"],
    "measure": ["core", "device", "comm", "kernels"],
    "io": ["core", "device", "comm", "kernels", "measure"],
    "workloads": ["core", "device", "comm", "kernels", "measure", "io"],
    "report": ["core", "device", "comm", "kernels", "measure", "io", "workloads"],
    "run": ["core", "device", "comm", "kernels", "measure", "io", "workloads", "report"],
    "check": ["core", "device", "comm", "kernels", "measure", "io", "workloads", "report", "run"],
    "commands": ["core", "device", "comm", "kernels", "measure", "io", "workloads", "report", "run", "check"],
}
# Interfaces of libraries that some folders must not see.
LIBRARY_USERS = {
    "hdf5.h": ["io"],
    "mpi.h": ["comm", "measure", "io", "workloads", "report", "commands"],
}
# Folders of kernels/ below the operations: the interpreter of CUDA kernels, and what reaches it.
INTERPRETER = "simt"
BELOW_OPERATIONS = [INTERPRETER, "common", "vendor"]
# What says CUDA's own words on behalf of the kernels: the folder of instructions, and a file.
CUDA_WORDS = re.compile(r"kernels/common/(ptx/|simt\.cuh$)")
TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md",
    "src", "kernels", "inputs", "jobs", "tests",
}
KERNEL_FILE = re.compile(r"_(ref|host_simd|kokkos|vendor|vendor_cuda|host_threads|host_serial|reproducible)\.cpp$|\.cu$")
KERNEL_FIELDS = ["Technique", "Before", "Shapes", "Work", "Launch", "Accuracy"]
# "Before", the rung a technique starts from: not every technique has one.
OPTIONAL_FIELDS = ["Before"]
# Said by the row, from which `quadrille explain` prints it.
ROW_FIELDS = ["Types", "Constraints", "Needs", "Source"]
# Names of variants that also name roles, libraries, legs, workloads or keys of files. Every
# other name is in the folder of the variant alone.
SHARED_WORDS = {"copy", "hdf5", "kokkos", "launch", "reference", "serial", "transport", "vendor"}
# The files of names that keys and variants had, which alone may have them, and names of now beside them.
FORMER = "former_names"
# Tables of what documents have, by the names of variants: no more than shown.
OF_DOCUMENTS = {"sources", "profile"}
# Text for people, by which nothing may be decided: it is worded anew without a thought.
TEXT_FOR_PEOPLE = r"\b\w*(?:reason|message|detail|unsupported|skipped|suspect|summary)\w*(?:\(\)|\[\w+\])?"


class Skip(Exception):
    """A tool or program that the check needs is missing."""


def files(root: Path, folders: list[str], suffixes: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and re.search(rf"\.({suffixes})$", path.name):
                yield path


def shell_files(root: Path) -> list[Path]:
    return [*files(root, ["jobs", "tests"], "sh|sbatch"), *(p for p in [root / ".ci/run"] if p.exists())]


def run(command: list, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def layering(root: Path) -> list[str]:
    found = []
    kernel_folders = {p.name for p in (root / "kernels").glob("*") if p.is_dir()}
    for path in files(root, ["src", "kernels"], "[ch]pp|cu|cuh"):
        name = path.relative_to(root)
        own = "kernels" if name.parts[0] == "kernels" else name.parts[1]
        if own == "main.cpp":
            allowed = [*LAYERS]
        elif own in LAYERS:
            allowed = [own, *LAYERS[own]]
        else:
            found.append(f"{name}: src/{own} is not a layer")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
            if not include:
                continue
            target = include[2]
            if include[1] == "<":
                if target in LIBRARY_USERS and own not in LIBRARY_USERS[target]:
                    found.append(f"{name}:{number}: {own} must not see <{target}>")
                continue
            folder = target.split("/")[0]
            is_below = own == "kernels" and name.parts[1] in BELOW_OPERATIONS
            places = [root / top / f"{target}{suffix}" for top in ["src", "kernels"] for suffix in ["", ".in"]]
            if "/" not in target or not any(place.exists() for place in places):
                found.append(f'{name}:{number}: "{target}" is not a file in a folder of src/ or kernels/')
            elif folder == INTERPRETER and not is_below:
                found.append(f"{name}:{number}: the interpreter is included by kernels/common/ alone")
            elif folder in kernel_folders and is_below and folder not in BELOW_OPERATIONS:
                found.append(f"{name}:{number}: {name.parts[1]} must not include the operation {folder}")
            elif ("kernels" if folder in kernel_folders else folder) not in allowed:
                found.append(f"{name}:{number}: {own} must not include {folder}")
    return found


def kernel_headers(root: Path) -> list[str]:
    found = []
    for path in files(root, ["kernels"], "cpp|cu"):
        if not KERNEL_FILE.search(path.name):
            continue
        name = path.relative_to(root)
        block = []
        for line in path.read_text().splitlines()[2:]:
            if not line.startswith("///"):
                break
            block.append(line)
        stated = [m for m in (re.match(r"/// ([A-Z][a-z]+) +(\S.*)", line) for line in block) if m]
        fields = [m[1] for m in stated if m[1] in [*KERNEL_FIELDS, *ROW_FIELDS]]
        expected = [field for field in KERNEL_FIELDS if field in fields or field not in OPTIONAL_FIELDS]
        if not block or block[0] != "/// @file":
            found.append(f"{name}:3: the header block does not open with '/// @file'")
        elif len(block) < 4 or not block[1].endswith(".") or not any(b.startswith("///   ") for b in block[2:4]):
            found.append(f"{name}:4: the header block needs a sentence and an indented formula")
        if fields != expected:
            found.append(f"{name}: header fields are {fields}, expected {expected}; the row says {ROW_FIELDS}")
        for rung in [m[2].split(";")[0] for m in stated if m[1] == "Before"]:
            operation = name.parts[1]
            if not any(f'"{rung}"' in file.read_text() for file in files(root / "kernels", [operation], "cpp|cu")):
                found.append(f"{name}: '{rung}' is not a rung of {operation}")
    return found


def kernel_code(root: Path) -> list[str]:
    """What g++ could not compile for the interpreter; a file named *_vendor_cuda.cu is nvcc's alone."""
    found = []
    forbidden = {
        r"\b__shared__\b": "declare shared memory with QUAD_SHARED or QUAD_DYNAMIC_SHARED",
        r"<<<": "launch with QUAD_LAUNCH",
        r"#\s*include\s*<(?:cooperative_groups|cub/|thrust/|cuda/|mma\.h|cuda_runtime)":
            "include common/simt.cuh or headers of common/ptx/ instead",
        r"\basm\b": "instructions are functions in headers of common/ptx/",
    }
    for path in files(root, ["kernels"], "cu|cuh"):
        name = path.relative_to(root)
        if CUDA_WORDS.match(str(name)) or name.stem.endswith("_vendor_cuda"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            found += [f"{name}:{number}: {why}" for what, why in forbidden.items() if re.search(what, code)]
    return found


def spdx(root: Path) -> list[str]:
    found = []
    sources = [
        *files(root, ["src", "kernels", "tests", "jobs"], "[ch]pp|cu|cuh|py|sh|sbatch|cmake"),
        *root.glob("CMakeLists.txt"),
        *(p for folder in ["src", "kernels", "tests"] for p in (root / folder).rglob("CMakeLists.txt")),
        *(p for p in [root / ".ci/run"] if p.exists()),
    ]
    for path in sources:
        head = path.read_text().splitlines()[:3]
        for wanted in ["SPDX-FileCopyrightText: ", "SPDX-License-Identifier: Apache-2.0"]:
            if not any(wanted in line for line in head):
                found.append(f"{path.relative_to(root)}:1: no line '{wanted.strip()}'")
    return found


def headers(root: Path) -> list[str]:
    found = []
    for path in files(root, ["src", "kernels", "tests"], "hpp|cuh"):
        text = path.read_text()
        if "\n#pragma once\n" not in text:
            found.append(f"{path.relative_to(root)}: no #pragma once")
        if re.search(r"^\s*using namespace", text, re.MULTILINE):
            found.append(f"{path.relative_to(root)}: using namespace in a header")
    return found


def tracked(root: Path) -> list[str]:
    if not (root / ".git").exists():
        raise Skip("not a git repository")
    return run(["git", "-C", root, "ls-files", "--cached"], check=True).stdout.splitlines()


def top_level(root: Path) -> list[str]:
    entries = {name.split("/")[0] for name in tracked(root)}
    return [
        f"{entry}: not a listed top-level entry"
        for entry in sorted(entries)
        if entry not in TOP_LEVEL and not entry.startswith(".")
    ]


def clang_format(root: Path) -> list[str]:
    tool = next(filter(None, map(shutil.which, ["clang-format-14", "clang-format"])), None)
    if tool is None or " 14." not in run([tool, "--version"]).stdout:
        raise Skip("no clang-format 14; versions format differently")
    sources = [*files(root, ["src", "kernels", "tests"], "[ch]pp|cu|cuh")]
    result = run([tool, "--dry-run", "-Werror", "--style=file", *sources], cwd=root)
    places = re.findall(r"^(.+?):\d+:\d+: error", result.stderr, re.MULTILINE)
    return [f"{Path(place).relative_to(root)}: not formatted" for place in dict.fromkeys(places)]


def shellcheck(root: Path) -> list[str]:
    if not shutil.which("shellcheck"):
        raise Skip("no shellcheck")
    names = [path.relative_to(root) for path in shell_files(root)]
    return run(["shellcheck", "--format=gcc", *names], cwd=root).stdout.splitlines()


def codespell(root: Path) -> list[str]:
    if not shutil.which("codespell"):
        raise Skip("no codespell")
    result = run(["codespell", *tracked(root)], cwd=root)
    return (result.stdout + result.stderr).splitlines()


def words(root: Path) -> list[str]:
    """Our own words where the field has one: words.txt."""
    lines = (Path(__file__).parent / "words.txt").read_text().splitlines()
    pairs = [line.split("->") for line in lines if line and not line.startswith("#")]
    rules = [(re.compile(rf"(?<!\w)(?:{word.strip()})(?!\w)"), instead.strip()) for word, instead in pairs]
    one_of_them = re.compile(rf"(?<!\w)(?:{'|'.join(word.strip() for word, _ in pairs)})(?!\w)")
    found = []
    for name in tracked(root):
        path = root / name
        if name == "tests/structure/words.txt" or path.suffix in (".h5", ".png", ".gz") or path.stem.startswith(FORMER):
            continue
        text = path.read_text(errors="replace")
        if not one_of_them.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{name}:{number}: '{match.group()}': {instead}"
                      for rule, instead in rules if (match := rule.search(line))]
    return found


def readme(root: Path) -> list[str]:
    """Shell snippets parse, and the files they name exist."""
    if not (root / "README.md").exists():
        return ["README.md is missing"]
    text = (root / "README.md").read_text()
    snippets = re.findall(r"^```(?:bash|sh|shell|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if not snippets:
        return ["README.md: no ```bash snippet"]
    found = []
    for snippet in snippets:
        parsed = run(["bash", "-n"], input=snippet)
        if parsed.returncode != 0:
            found.append(f"README.md: {parsed.stderr.strip()}: {snippet}")
        for name in re.findall(r"(?:jobs|tests|inputs|src|kernels)/[\w./-]*\w", snippet):
            if not (root / name).exists():
                found.append(f"README.md: {name} does not exist")
    return found


def inputs(root: Path, binary: Path) -> list[str]:
    found = []
    for path in files(root, ["inputs"], "toml"):
        name = path.relative_to(root)
        if not path.read_text().startswith("[about]\n"):
            found.append(f"{name}:1: does not begin with [about]")
        # With fewer the 95 % interval of a median is the whole range, and `compare` decides nothing.
        repetitions = re.search(r"^repetitions = (\d+)$", path.read_text(), re.M)
        if path.stem in ("quickstart", "acceptance") and int(repetitions[1]) < 9:
            found.append(f"{name}: {repetitions[1]} repetitions, of at least 9")
        result = run([binary, "run", path, "--dry-run"], cwd=root)
        if result.returncode != 0:
            found.append(f"{name}: --dry-run ended with {result.returncode}: {result.stderr.strip()}")
    if not any(files(root, ["inputs"], "toml")):
        found.append("inputs/: no input files")
    return found


def workload_table(root: Path, binary: Path) -> list[str]:
    """A file x.cpp that defines an entry x is a workload; the program must list exactly these."""
    made = {
        path.stem
        for path in files(root, ["src/workloads"], "cpp")
        if re.search(rf"WorkloadEntry const {path.stem}(?:\{{| =)", path.read_text())
    }
    return compare_with_list("workloads", made, binary)


def transport_table(root: Path, binary: Path) -> list[str]:
    """A transport's file defines its row of the table; the program must list exactly these."""
    row = re.compile(r'TransportEntry const \w+\{\s*\.name = "(\w+)"')
    made = {name for path in files(root, ["src/comm"], "cpp") for name in row.findall(path.read_text())}
    return compare_with_list("transports", made, binary)


def variant_names(root: Path, binary: Path) -> list[str]:
    """A variant's name is for people: nothing is decided by it, nor by the text of a message."""
    result = run([binary, "list", "variants", "--json"])
    if result.returncode != 0:
        return [f"list variants --json ended with {result.returncode}: {result.stderr.strip()}"]
    names = {row["name"] for row in json.loads(result.stdout)}
    word = "|".join(sorted(names))
    name = rf'"(?:{word})"'
    literal = re.compile(rf'"({word})"')
    definition = re.compile(rf'(?:\.name = |\brow(?:<[\w\s<>,:]+>)?\(\s*)"({word})"')
    call = r"\b(?:find|rfind|contains|count|starts_with|ends_with|compare|strn?cmp|strstr)"
    decided = [
        (re.compile(rf'[=!]=\s*{name}|{name}\s*[=!]=|(?:[.:]|->){call}\([^()"]*{name}|\bfind\([^()"]*{name}'),
         "decides by the name of a variant; give it a member that says so"),
        (re.compile(rf'{TEXT_FOR_PEOPLE}\s*(?:\.|->)\s*{call}\(|{TEXT_FOR_PEOPLE}\s*[=!]=\s*"[^"]'),
         "decides by a text for people"),
    ]
    texts = {
        path: re.sub(r"^ *#include.*|//.*", "", path.read_text(), flags=re.MULTILINE)
        for path in files(root, ["src", "kernels"], "[ch]pp|cu|cuh")
        if path.name != "access_counts.hpp"  # a generated table, whose key is the name
    }
    def folder(path: Path) -> Path:
        """Of an operation with its rooms."""
        return root.joinpath(*path.relative_to(root).parts[:2]) if path.is_relative_to(root / "kernels") else path.parent

    homes: dict[str, set[Path]] = {}
    for path, text in texts.items():
        for match in definition.finditer(text):
            homes.setdefault(match[1], set()).add(folder(path))
    found = [f"{variant}: no file of src/ or kernels/ defines it" for variant in sorted(names - homes.keys())]
    for path, text in texts.items():
        places = [(match.start(), why) for pattern, why in decided for match in pattern.finditer(text)]
        places += [
            (match.start(), f"{match[0]} is the name of a variant, which its folder alone knows")
            for match in literal.finditer(text)
            if match[1] not in SHARED_WORDS and path.stem not in {FORMER, *OF_DOCUMENTS}
            and folder(path) not in homes.get(match[1], [folder(path)])
        ]
        found += [f"{path.relative_to(root)}:{text.count(chr(10), 0, at) + 1}: {why}" for at, why in sorted(places)]
    return found


# Folders of the layers whose tests run no operation, and the operations that these layers are made of.
LEAN_TESTS = ["core", "device", "comm", "measure", "io"]
PARTS_OF_LAYERS = {"reduction", "support"}


def lean_programs(root: Path, binary: Path) -> list[str]:
    """A test that runs no operation has none in it: one stray symbol links all kernels, 45 MB in place of 3."""
    operations = {path.name for path in (root / "kernels").glob("*") if path.is_dir()}
    operations -= {*BELOW_OPERATIONS, *PARTS_OF_LAYERS}
    symbol = re.compile("|".join(f"9quadrille7kernels{len(name)}{name}[0-9E]" for name in sorted(operations)).encode())
    folders = (binary.parent / "tests", binary.parent / "sanitize/tests")
    programs = [path for layer in LEAN_TESTS for folder in folders for path in sorted(folder.glob(f"{layer}_*")) if path.is_file()]
    if not programs:
        raise Skip("no tests are built")
    linked = [(path, symbol.search(path.read_bytes())) for path in programs]
    return [f"{path.name} has a kernel in it: {match[0].decode()}" for path, match in linked if match]


def compare_with_list(what: str, made: set[str], binary: Path) -> list[str]:
    result = run([binary, "list", what, "--json"])
    if result.returncode != 0:
        return [f"list {what} --json ended with {result.returncode}: {result.stderr.strip()}"]
    listed = {row["name"] for row in json.loads(result.stdout)}
    return [
        *(f"{what}: {name} is made but not listed" for name in sorted(made - listed)),
        *(f"{what}: {name} is listed but not made in a file of its own" for name in sorted(listed - made)),
    ]


def self_test(_: Path) -> list[str]:
    spdx_lines = "// SPDX-FileCopyrightText: x\n// SPDX-License-Identifier: Apache-2.0\n"
    block = "".join(f"/// {field:12} none\n" for field in KERNEL_FIELDS)
    kernel = f"{spdx_lines}/// @file\n/// Sum.\n///\n///   a = b\n///\n{block}"
    rungless = kernel.replace("/// Before       none\n", "")
    good = {
        "src/core/a.hpp": f"{spdx_lines}#pragma once\n",
        "src/main.cpp": f'{spdx_lines}#include "core/a.hpp"\n',
        "kernels/sum/sum_ref.cpp": rungless + '#include "core/a.hpp"\n',
        "kernels/sum/sum_simt.cu": kernel.replace("Before       none", "Before       plain") + 'char const* plain = "plain";\n',
        "kernels/common/simt.cuh": f'{spdx_lines}#pragma once\n#include "simt/engine.hpp"\n',
        "kernels/common/ptx/copies.cuh": f'{spdx_lines}#pragma once\nvoid f() {{ asm("exit;"); }}\n',
        "kernels/simt/engine.hpp": f"{spdx_lines}#pragma once\n",
        "tests/io_test": "_ZN9quadrille7kernels8generate4fillEv",
        "tests/simt/sabotage.hpp": f"{spdx_lines}#pragma once\n",
        "src/io/file.hpp": f"{spdx_lines}#pragma once\n",
        "src/comm/world.hpp": f"{spdx_lines}#pragma once\n",
        "src/commands/a.hpp": f"{spdx_lines}#pragma once\n",
        "kernels/sum/sum.hpp": f"{spdx_lines}#pragma once\n",
        "jobs/a.sh": "#!/bin/bash\n# SPDX-FileCopyrightText: x\n# SPDX-License-Identifier: Apache-2.0\n",
        "inputs/a.toml": "[about]\n[run]\n",
        "src/comm/transport_sum.cpp": f'{spdx_lines}TransportEntry const sum_transport{{\n    .name = "sum",\n}};\n',
        "src/workloads/sum.cpp": f"{spdx_lines}extern WorkloadEntry const sum{{}};\n",
        "README.md": "```bash\nbash jobs/a.sh\n```\n",
        ".clang-format": "BasedOnStyle: Google\n",
        "binary": '#!/bin/bash\ncase "$1$*" in\n  list*) echo "[{\\"name\\": \\"sum\\"}]" ;;\n'
                  '  *) grep -q "^.run" "$2" ;;\nesac\n',
    }
    bad = [
        (layering, "src/core/a.hpp", '#include "io/file.hpp"\n'),
        (layering, "src/core/a.hpp", "#include <mpi.h>\n"),
        (layering, "src/comm/a.cpp", "#include <hdf5.h>\n"),
        (layering, "src/core/a.hpp", '#include "b.hpp"\n'),
        (layering, "kernels/sum/sum_ref.cpp", '#include "comm/world.hpp"\n'),
        (layering, "src/device/a.hpp", '#include "sum/sum.hpp"\n'),
        (layering, "kernels/sum/sum_simt.cu", '#include "simt/engine.hpp"\n'),
        (layering, "src/device/a.hpp", '#include "simt/engine.hpp"\n'),
        (layering, "kernels/simt/engine.cpp", '#include "sum/sum.hpp"\n'),
        (layering, "kernels/common/simt.cuh", '#include "simt/sabotage.hpp"\n'),
        (kernel_code, "kernels/sum/sum_simt.cu", kernel + "__shared__ float x[32];\n"),
        (kernel_code, "kernels/sum/sum_simt.cu", kernel + "sum_kernel<<<1, 32>>>(x);\n"),
        (kernel_code, "kernels/sum/sum_simt.cu", kernel + "#include <cooperative_groups.h>\n"),
        (kernel_code, "kernels/sum/sum_simt.cu", kernel + 'asm volatile("bar.sync 0;");\n'),
        (layering, "src/report/a.cpp", '#include "commands/a.hpp"\n'),
        (layering, "src/run/a.cpp", '#include "commands/a.hpp"\n'),
        (layering, "src/util/a.cpp", "int a;\n"),
        (kernel_headers, "kernels/sum/sum_ref.cpp", rungless.replace("/// Work         none\n", "")),
        (kernel_headers, "kernels/sum/sum_ref.cpp", rungless.replace("none", "", 1)),
        (kernel_headers, "kernels/sum/sum_ref.cpp", rungless.replace("/// Work", "/// Types        f32\n/// Work")),
        (kernel_headers, "kernels/sum/sum_ref.cpp", rungless + "/// Source       own\n"),
        (kernel_headers, "kernels/sum/sum_ref.cpp", kernel),
        (kernel_headers, "kernels/sum/sum_simt.cu", kernel.replace("/// @file\n", "")),
        (kernel_headers, "kernels/sum/sum_vendor.cpp", kernel.replace("///   a = b\n", "")),
        (kernel_headers, "kernels/sum/sum_kokkos.cpp", "int a;\n"),
        (kernel_headers, "kernels/sum/sum_host_simd.cpp", "int a;\n"),
        (spdx, "src/core/a.cpp", "int a;\n"),
        (spdx, "jobs/a.sbatch", "#!/bin/bash\n"),
        (headers, "src/core/a.hpp", spdx_lines + "int a();\n"),
        (headers, "src/core/a.hpp", spdx_lines + "#pragma once\nusing namespace std;\n"),
        (top_level, "docs/a.md", "text\n"),
        (clang_format, "src/core/a.cpp", "int  a ;\n"),
        (shellcheck, "jobs/b.sbatch", "#!/bin/bash\necho $1\n"),
        (codespell, "src/core/a.cpp", "// an adr" + "ess\n"),
        (readme, "README.md", "```bash\nbash jobs/missing.sh\n```\n"),
        (readme, "README.md", "```bash\nif true\n```\n"),
        (inputs, "inputs/b.toml", "[run]\n"),
        (inputs, "inputs/b.toml", good["inputs/a.toml"].replace("[run]", "[walk]")),
        (workload_table, "src/workloads/product.cpp",
         "extern WorkloadEntry const product{};\n"),
        (workload_table, "src/workloads/sum.cpp", "int a;\n"),
        (transport_table, "src/comm/transport_post.cpp", 'TransportEntry const post{.name = "post"};\n'),
        (transport_table, "src/comm/transport_sum.cpp", "int a;\n"),
        (lean_programs, "tests/comm_test", "_ZN9quadrille7kernels3sum6launchEv"),
        (variant_names, "src/comm/transport_sum.cpp", "int a;\n"),
        (variant_names, "src/measure/a.cpp", 'bool a = name == "sum";\n'),
        (variant_names, "src/measure/a.cpp", 'bool a = "sum"\n    != name;\n'),
        (variant_names, "src/comm/a.cpp", 'bool a = name == "sum";\n'),
        (words, "src/comm/a.cpp", "constexpr int kMo" "stRanks = 3;\n"),
        (words, "src/comm/a.cpp", "// Legs that hin" "der each other.\n"),
        (variant_names, "src/comm/a.cpp", 'auto a = find(table, "sum", kind);\n'),
        (variant_names, "src/comm/a.cpp", 'bool a = name.starts_with("sum");\n'),
        (variant_names, "kernels/sum/a.cu", 'char const* const a = "sum";\n'),
        (variant_names, "src/comm/a.cpp", 'bool a = reason.find("needs") != npos;\n'),
        (variant_names, "src/comm/a.cpp", 'bool a = record->reason == "needs CUDA";\n'),
        (variant_names, "src/comm/a.cpp", 'bool a = row.unsupported_reason().starts_with("needs");\n'),
    ]
    found = []
    for check, name, text in [(c, None, "") for c in CHECKS.values() if c is not self_test] + bad:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, content in {**good, **({name: text} if name else {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            binary = root / "binary"
            binary.chmod(0o755)
            run(["git", "-C", root, "init"])
            (root / ".git/info/exclude").write_text("/binary\n")
            run(["git", "-C", root, "add", "."])
            (root / "scratch.md").write_text("Text that git does not know.\n")
            try:
                seen = call(check, root, binary)
            except Skip:
                continue
        if bool(seen) != bool(name):
            found.append(f"{check.__name__} on {name or 'a good tree'} says {seen}: {text!r}")
    return found


CHECKS = {
    check.__name__: check
    for check in [
        layering, kernel_headers, kernel_code, spdx, headers, top_level, clang_format, shellcheck,
        codespell, words, readme, inputs, workload_table, transport_table, lean_programs,
        variant_names, self_test,
    ]
}

BINARY_CHECKS = (inputs, workload_table, transport_table, lean_programs, variant_names)


def call(check, root: Path, binary: Path) -> list[str]:
    return check(root, binary) if check in BINARY_CHECKS else check(root)


def main() -> int:
    check, root, binary = CHECKS[sys.argv[1]], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    try:
        violations = call(check, root, binary)
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    for violation in violations:
        print(violation)
    print(f"{check.__name__}: {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
