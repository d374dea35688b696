"""The processes of a service."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

HAPROXY = "haproxy"


def family(roots: Sequence[int], folder: Path) -> list[psutil.Process]:
    """Those below ``roots``, and HAProxy processes whose files are in ``folder``, whoever they belong to by now."""
    found = {process.pid: process for process in _below(roots)}
    for process in psutil.process_iter(["name"]):
        if process.pid not in found and HAPROXY in (process.info["name"] or "") and str(folder) in title(process):
            found[process.pid] = process
    return list(found.values())


def title(process: psutil.Process) -> str:
    """The command line, which Ray replaces by what its processes are; empty once it has ended."""
    try:
        return " ".join(process.cmdline()).strip()
    except psutil.Error:
        return ""


def _below(roots: Sequence[int]) -> Iterator[psutil.Process]:
    for pid in roots:
        try:
            root = psutil.Process(pid)
            yield root
            yield from root.children(recursive=True)
        except psutil.NoSuchProcess:
            continue
