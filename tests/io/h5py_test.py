# SPDX-FileCopyrightText: 2026 The Quadrille developers
# SPDX-License-Identifier: Apache-2.0
"""Reads by h5py what the io tests write: h5py_test.py RESULT_TEST FIELD_TEST MPIRUN..."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def write(variable: str, path: str, command: list[str]) -> h5py.File:
    subprocess.run(command, env={**os.environ, variable: path}, check=True, stdout=subprocess.DEVNULL)
    return h5py.File(path, "r")


def check_result(file: h5py.File) -> None:
    assert file.attrs["schema"] == "quadrille-result"
    assert file.attrs["schema_version"] == 1
    assert file.attrs["status"] == "finished"
    assert list(file) == ["build", "cases", "config", "environment", "events", "ranks", "transport_times"]
    assert file["config"][()].decode() == "[run]\nrepetitions = 4\n"
    assert file["build"].attrs["commit"] == "1a72114"
    assert file["environment"].attrs["OMP_EMPTY"] == ""
    columns = file["ranks"].dtype
    assert columns.names == (
        "rank", "node", "local_rank", "device", "uuid", "pci", "numa", "cpu_mask", "memory", "threads",
        "cores", "cpu_quota", "settings")
    types = [columns[name].str for name in columns.names if columns[name].kind == "i"]
    assert types == ["<i4", "<i4", "<i4", "<i8", "<i4"]
    texts = [name for name in columns.names if h5py.check_string_dtype(columns[name])]
    assert texts == ["node", "device", "uuid", "pci", "cpu_mask", "settings"]
    assert file["ranks"][2]["pci"] == b"0000:17:00.0" and file["ranks"][0]["memory"] == 2**40
    assert [rank["settings"] for rank in file["ranks"]] == [b"", b"", b"power limit 650 W; ECC on"]
    times = file["transport_times"]
    assert times.dtype.names == ("operation", "bytes", "transport", "seconds", "auto_takes")
    assert times.dtype["seconds"].str == "<f8" and times.dtype["bytes"].str == "<i8"
    assert times[0].tolist() == (b"allreduce", 8, b"ipc", 1 / 3, b"ipc") and times[1]["bytes"] == 2**40
    assert [text.decode() for text in file["events"]] == ["warning: one rank is slow", "retry"]

    case = file["cases/summa.2:kokkos"]
    assert case.attrs["workload"] == "summa" and case.attrs["verdict"] == "PASS"
    assert list(case.attrs["sizes"]) == [4096, 4096, 512]
    assert case.attrs["seed"] == 2**64 - 1
    assert list(case.attrs["suspect"])[0] == "the clock fell by 11 %"
    assert case["time"].shape == (6, 3, 1) and case["time"].dtype == np.float64
    assert case["time"][1, 1, 0] == 0.1 and case["time"][1, 2, 0] == 0.2
    assert case["legs"].shape == (4, 7, 3)
    assert list(case["legs"].attrs["legs"]) == ["compute", "communicate", "serial", "overlapped"]
    assert list(case["legs"].attrs["repetitions"]) == [7, 6, 6, 6]
    assert set(case["check"].attrs) == {"error", "bound", "wrong_count", "first_wrong", "digest"}
    summary = case["summary"].attrs
    median = np.median(case["time"][:, :, 0].max(axis=1))
    assert abs(summary["median_s"] - median) < 1e-15
    words = {"limit", "vendor_is_suspect", "copy_is_suspect", "local_is_suspect"}
    assert all(summary[name].dtype == np.float64 for name in summary if name not in words)
    assert summary["limit"] == "memory" and summary["percent_of_ceiling"] <= 100
    assert summary["warmups"] == 7 and summary["warmup_s"] == 0.9 and "warmup" not in case
    assert "ratio_to_vendor" in summary and "hidden" in summary

    def dimensions(name):
        return [dimension.label for dimension in case[name].dims]

    for name in ("time", "clock", "power", "energy"):
        assert dimensions(name) == ["repetition", "rank", "phase"], name
        assert list(case[name].dims[1]["rank"]) == [0, 1, 2], name
    assert dimensions("legs") == ["leg", "repetition", "rank"] and len(case["legs"].dims[2]["rank"]) == 3
    for name in ("pairs/latency", "pairs/transfer"):
        assert dimensions(name) == ["pair", "repetition"], name
        pair = case[name].dims[0]
        assert list(pair["from"]) == [0, 0, 1, 1, 2, 2] and list(pair["to"]) == [1, 2, 0, 2, 0, 1], name
        assert pair["link"][1] == b"network", name

    readme = (pathlib.Path(__file__).resolve().parent.parent.parent / "src/io/README.md").read_text()
    for name in {*file, *case, *case["pairs"]} - {"cases", "pairs"}:
        assert f"{name}`" in readme, f"src/io/README.md lacks {name}"

    units = {}
    case.visititems(lambda name, item: units.update({name: item.attrs["unit"]} if "unit" in item.attrs else {}))
    assert units == {"time": "s", "clock": "Hz", "power": "W", "energy": "J", "legs": "s", "pairs/latency": "s",
                     "pairs/transfer": "s"}, units

    skipped = file["cases/ptrans:cuda|tile"]
    assert skipped.attrs["id"] == "ptrans:cuda/tile" and skipped["time"].shape == (0, 0, 1)
    assert skipped.attrs["verdict"] == "UNSUPPORTED" and "legs" not in skipped


def check_fields(file: h5py.File) -> None:
    i, j = np.mgrid[0:300, 0:200]
    assert file["C"].dtype == np.float64 and file["C"].chunks is None
    assert np.array_equal(file["C"][:], i + j / 1024)
    assert file["half"].dtype == np.float16
    assert np.array_equal(file["half"][:], 2.0 ** (np.arange(1000) % 16 - 8))
    assert np.array_equal(file["brain"][:].astype(float), 2.0 ** (np.arange(200.0) - 100))
    assert np.array_equal(file["bytes"][:], np.arange(-128, 128, dtype=np.int8))


def main() -> None:
    result_test, field_test, *mpirun = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        check_result(write("QUADRILLE_TEST_RESULT", f"{folder}/result.h5",
                           [result_test, "--gtest_filter=*.WritesForOthers"]))
        for ranks in ("1", "3"):
            check_fields(write("QUADRILLE_TEST_FIELDS", f"{folder}/{ranks}.h5",
                               [*mpirun, "-n", ranks, field_test, "--gtest_filter=*.WritesForOthers"]))


main()
