"""What the processes of a service take over time: memory and open files."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import psutil

from chaos.services.family import title
from chaos.services.under_test import Processes
from serve_app.yielding import only_watches

MIB = 1024 * 1024
WARM_UP_S = 240.0
"""What a process takes at first is not growth: modules, models, caches, the 20,000 answers that a router remembers."""

LEAST_S = 120.0
"""A process that lives for less after its warm-up says nothing."""

PART = 0.25
"""Growth is from the median of the first part of the samples after the warm-up to that of the last part."""

GROWTH, GROWTH_MIB = 0.05, 8.0
"""More than both is growth: what Python's allocator keeps of a burst is up to some MiB in a process of any size."""

LEAKED_FILES = 10
"""More open files than at the beginning; connections of clients and of batches come and go."""


LARGEST = 8
"""Processes whose peaks are told."""


@dataclass
class Track:
    """One process over time: instants of the monotonic clock, memory of its own in bytes (USS), open files."""

    name: str
    only_watches: bool = False  # Ray's dashboard, agents and log monitor, which no query passes
    at_s: list[float] = field(default_factory=list)
    memory_bytes: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def warm(self, warm_up_s: float) -> slice:
        """Its samples after the warm-up."""
        first = next((n for n, at_s in enumerate(self.at_s) if at_s - self.at_s[0] >= warm_up_s), len(self.at_s))
        return slice(first, len(self.at_s))


def judged_s(seconds: float) -> tuple[float, float]:
    """Of a soak of that length the warm-up of each process, and for how long it has to live afterwards to be judged.

    In a short one that is half of what is left at least: the connections of a proxy that was replaced meanwhile still
    come, and are no leak.
    """
    warm_up_s = min(WARM_UP_S, seconds / 4.0)
    return warm_up_s, min(LEAST_S, (seconds - warm_up_s) / 2.0)


class GrowthWatch:
    """Takes samples of all processes of a service; `figures` says what grew."""

    def __init__(self, processes: Processes) -> None:
        self.tracks: dict[tuple[int, float], Track] = {}
        self._processes = processes

    def look(self) -> None:
        """One sample of each process that is there."""
        now_s = time.monotonic()
        for process in self._processes():
            try:
                key = (process.pid, process.create_time())
                taken = process.memory_full_info().uss
                files = process.num_fds()
            except psutil.Error:
                continue
            track = self.tracks.setdefault(key, Track(""))
            track.name = name_of(process) or track.name
            track.only_watches = track.only_watches or only_watches(title(process).split(" "))
            track.at_s.append(now_s)
            track.memory_bytes.append(taken)
            track.files.append(files)

    def figures(self, warm_up_s: float = WARM_UP_S, least_s: float = LEAST_S) -> list[dict[str, Any]]:
        """Each process that lived long enough: what it took at first and at last, and whether that is growth."""
        told = []
        for (pid, _), track in sorted(self.tracks.items()):
            part = track.warm(warm_up_s)
            at_s = track.at_s[part]
            if len(at_s) < 4 or at_s[-1] - at_s[0] < least_s:
                continue
            first, last = ends(track.memory_bytes[part])
            first_files, last_files = ends(track.files[part])
            told.append(
                {
                    "pid": pid,
                    "process": track.name,
                    "only_watches": track.only_watches,
                    "seconds": at_s[-1] - at_s[0],
                    "memory_mib": last / MIB,
                    "growth": last / first - 1.0,
                    "grew": last / first - 1.0 > GROWTH and last - first > GROWTH_MIB * MIB,
                    "files": last_files,
                    "leaked_files": last_files - first_files > LEAKED_FILES,
                }
            )
        return told

    def largest(self, begin_s: float) -> list[dict[str, Any]]:
        """Of all processes, short lives included, those that took most at one time: how much, when and for how long."""
        peaks: list[dict[str, Any]] = []
        for (pid, _), track in self.tracks.items():
            peak = max(track.memory_bytes)
            peaks.append(
                {
                    "pid": pid,
                    "process": track.name,
                    "peak_mib": peak / MIB,
                    "peak_at_s": track.at_s[track.memory_bytes.index(peak)] - begin_s,
                    "seen_s": track.at_s[-1] - track.at_s[0],
                }
            )
        return sorted(peaks, key=lambda each: each["peak_mib"], reverse=True)[:LARGEST]

    def series(self, begin_s: float) -> Mapping[str, tuple[list[float], list[float]]]:
        """By process seconds since ``begin_s`` and MiB."""
        return {
            f"{track.name} {pid}": (
                [at_s - begin_s for at_s in track.at_s],
                [each / MIB for each in track.memory_bytes],
            )
            for (pid, _), track in self.tracks.items()
        }


def ends(values: Sequence[int]) -> tuple[float, float]:
    """Medians of the first and the last part."""
    count = max(1, int(PART * len(values)))
    return float(median(values[:count])), float(median(values[-count:]))


def name_of(process: psutil.Process) -> str:
    """What Ray calls it, else the script that Python runs, else the command."""
    words = title(process).split(" ")
    if words[0].startswith("ray::"):
        return words[0].split(".")[0]
    script = next((word for word in words[1:] if word.endswith(".py")), "") if "python" in words[0] else ""
    return (script or words[0]).rsplit("/", 1)[-1]
