import os
from pathlib import Path

import pytest

from catalog import machine_type as module
from catalog.machine_type import cpus_there, machine_type

CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC

processor\t: 1
model name\t: another
"""


@pytest.fixture
def cpuinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(CPUINFO)
    monkeypatch.setattr(module, "_CPUINFO", file)


@pytest.mark.usefixtures("cpuinfo")
def test_a_cpu_type_has_the_model_its_numbers_and_how_many_are_used() -> None:
    assert machine_type("cpu", 2) == "AMD EPYC 26/2, 2 CPUs"
    assert machine_type("cpu", 1) == "AMD EPYC 26/2, 1 CPU"


@pytest.mark.usefixtures("cpuinfo")
def test_the_number_of_cpus_is_that_of_the_process_unless_given() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert machine_type() == "AMD EPYC 26/2, 1 CPU"
    finally:
        os.sched_setaffinity(0, before)


def test_a_machine_that_tells_nothing_is_called_by_its_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CPUINFO", tmp_path / "nothing")
    assert machine_type("cpu", 4) == f"{os.uname().machine}, 4 CPUs"


def test_a_gpu_is_called_what_its_driver_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, name in (("0000:01:00.0", "NVIDIA H200"), ("0000:02:00.0", "Tesla T4")):
        (tmp_path / address).mkdir()
        (tmp_path / address / "information").write_text(f"Model: \t\t {name}\nIRQ: \t 4\n")
    monkeypatch.setattr(module, "_GPUS", tmp_path)
    assert machine_type("cuda") == "NVIDIA H200"
    assert machine_type("cuda:1") == "Tesla T4"
    assert machine_type("cuda:2") == "cuda:2"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "250000 100000"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, 16),
        ({"cpu.max": "6400000 100000"}, 16),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 16),
        ({"cpu.max": "no limit"}, 16),
        ({}, 16),
    ],
)
def test_a_container_has_as_many_cpus_as_it_is_limited_to(
    files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(f"{content}\n")
    monkeypatch.setattr(module, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    assert cpus_there() == expected
