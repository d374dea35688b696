"""What a type of machine is called: equal names stand for machines on which variants slow each other down alike."""

import os
from math import inf
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_GPUS = Path("/proc/driver/nvidia/gpus")
_CGROUP = Path("/sys/fs/cgroup")


def machine_type(device: str = "cpu", cpus: int | None = None) -> str:
    """The type of this machine, as measurements of interference and live workers name it.

    For ``device`` ``cpu`` the CPU's model, its family and model numbers (virtual machines often hide the full name),
    and how many CPUs are used: ``AMD EPYC 26/2, 2 CPUs``. ``cpus`` is that number; None stands for the CPUs that this
    process may run on. For ``cuda`` and ``cuda:N`` it is the name of that GPU, and of ``device`` itself where there is
    no driver to ask. What follows a dash in ``device`` is the config's own name for it.
    """
    if device.startswith("cuda"):
        _, _, index = device.partition(":")
        return gpu_name(int(index or 0)) or device
    number = usable_cpus() if cpus is None else cpus
    return f"{cpu_model()}, {number} CPU{'' if number == 1 else 's'}"


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpus_there() -> int:
    """How many CPUs Ray counts here: those of the machine, or fewer where a container is limited to them."""
    return max(1, int(min(os.cpu_count() or 1, _quota())))


def _quota() -> float:
    """CPUs that the cgroup of a container allows, of version 2 or 1; infinite where it says nothing."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = " ".join((_CGROUP / name).read_text(encoding="utf-8") for name in names).split()
            quota_us, period_us = map(float, words)  # "max" where there is no limit
        except (OSError, ValueError):
            continue
        return quota_us / period_us if quota_us > 0 else inf
    return inf


def cpu_model() -> str:
    """Such as ``AMD EPYC 26/2``: name, family and model number of the CPU, or its architecture where none is told."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or (os.uname().machine if hasattr(os, "uname") else "CPU")
    numbers = [facts[key] for key in ("cpu family", "model") if key in facts]
    return " ".join([name, "/".join(numbers)]).strip()


def gpu_name(index: int = 0) -> str | None:
    """What the driver calls a GPU, counted in the order of their addresses; None where it is not there."""
    files = sorted(_GPUS.glob("*/information"))
    if not 0 <= index < len(files):
        return None
    for line in files[index].read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Model":
            return value.strip()
    return None
