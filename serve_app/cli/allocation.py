"""The cores that each variant needs, from profiles under several numbers of threads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from catalog.catalogue import Catalogue
from catalog.errors import ConfigError
from catalog.profiles.base_allocation import BaseAllocations, base_allocations
from catalog.variant import Variant
from deployments.worker.measure import OnProgress, measured_profiles


def numbers_of_cores(text: str) -> list[int]:
    """Such as ``1,2,4``; raises `ConfigError`."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = [0]
    if found[0] < 1:
        raise ConfigError(f"--cores {text!r} are no numbers of cores; give some, such as 1,2,4")
    return found


def allocations(
    catalogue: Catalogue,
    variants: Sequence[Variant],
    device: str,
    cores: Sequence[int],
    threshold_qps: float,
    largest_batch: int,
    on_progress: OnProgress,
    **measuring: Any,
) -> dict[str, BaseAllocations]:
    """By task the base allocations at the 95th percentile; ``measuring`` are options of `measured_profiles`.

    Raises `ConfigError` where no number of cores is enough for some variant.
    """
    by_cores = {
        number: measured_profiles(variants, catalogue.root, device, number, on_progress=on_progress, **measuring)
        for number in cores
    }
    found = {}
    for task in dict.fromkeys(variant.task for variant in variants):
        own = [variant for variant in variants if variant.task == task]
        most = min(largest_batch, *(variant.max_batch for variant in own))
        sizes = sorted({*(1 << power for power in range(most.bit_length())), most})
        latencies = {v.name: {number: by_cores[number][v.name].p95_s for number in cores} for v in own}
        found[task] = base_allocations(latencies, threshold_qps, sizes)
    return found


def record_of(found: Mapping[str, BaseAllocations]) -> dict[str, Any]:
    """As JSON values by task."""
    return {
        task: {"slo_s": own.slo_s, "variants": {name: asdict(each) for name, each in own.variants.items()}}
        for task, own in found.items()
    }


def table_of(task: str, own: BaseAllocations) -> Table:
    """One line per variant."""
    table = Table(title=f"{task}: base allocations within {own.slo_s * 1e3:.3g} ms")
    table.add_column("variant")
    for column in ("cores", "queries/s", "one row, ms", "largest batch, ms"):
        table.add_column(column, justify="right")
    for name, each in own.variants.items():
        figures = (each.capacity_qps, each.first_s * 1e3, each.largest_s * 1e3)
        table.add_row(name, str(each.cores), *(f"{figure:.3g}" for figure in figures))
    return table
