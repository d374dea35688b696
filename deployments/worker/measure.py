"""Latency profiles of variants on this machine, measured through the runtimes that serve them, and kept."""

from collections.abc import Callable, Iterable
from functools import cache, partial

from catalog.artifacts.rules import ArtifactRules
from catalog.errors import AccordError
from catalog.machine_type import machine_type
from catalog.profiles import profile_cache
from catalog.profiles.profile import LatencyProfile
from catalog.profiles.profile_csv import ProfiledVariant
from catalog.profiles.profiler import BATCH_SIZES, profile_lengths, profile_variant, sample_of
from catalog.store import NO_MORE, FsspecStore
from catalog.variant import Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, not_measurable
from deployments.runtimes.emulated_runtime import emulated_profile
from deployments.runtimes.making import make_runtime

BUDGET_S = 6.0
"""Seconds at most that one variant is measured for, all batch sizes together."""

OnProgress = Callable[[str, float], None]
"""Called with the variant in hand and the share, 0 to 1, of all the work that is done."""


def measured_profiles(
    variants: Iterable[Variant],
    root: str,
    device: str,
    threads: int,
    *,
    budget_s: float = BUDGET_S,
    again: bool = False,
    on_progress: OnProgress | None = None,
    rules: ArtifactRules = NO_MORE,
    environment: str = "",
) -> dict[str, LatencyProfile]:
    """Profile per variant name: kept ones where nothing that they depend on has changed, else measured now.

    ``root`` is where relative artifacts start from; ``rules`` are about remote ones. ``again`` measures whatever is
    kept; ``environment`` says what this process has that others have not. Emulated variants are not measured: theirs
    is the profile that they follow. Raises `ArtifactError` or `ConfigError` for a variant that cannot be loaded here.
    """
    given = tuple(variants)
    store = FsspecStore(root, profile_cache.cache_dir(), rules)
    wanted = [variant for variant in given if not variant.emulated]
    profiles = {each.name: _followed(each, store, device) for each in given if each.emulated}
    before = len(profiles)
    for task in dict.fromkeys(variant.task for variant in wanted):
        of_task = [variant for variant in wanted if variant.task == task]
        hardware = profile_cache.cpu_description() if device.startswith("cpu") else machine_type(device)
        path = profile_cache.cache_path(task, hardware, threads, of_task, root, environment)
        kept = None if again else profile_cache.load(path, device, of_task)
        if kept is None:
            kept = {}
            for variant in of_task:
                report = _reporter(variant.name, len(profiles) - before + len(kept), len(wanted), on_progress)
                measured = _measure(variant, store, device, threads, budget_s, report)
                kept[variant.name] = ProfiledVariant(variant.accuracy_pct, measured)
            profile_cache.save(path, kept)
        profiles.update({name: row.profile for name, row in kept.items()})
    return profiles


def _followed(variant: Variant, store: FsspecStore, device: str) -> LatencyProfile:
    artifact = store.fetch(variant.artifact)
    return emulated_profile(variant, artifact, device)


def _measure(
    variant: Variant, store: FsspecStore, device: str, threads: int, budget_s: float, report: Callable[[float], None]
) -> LatencyProfile:
    runtime = make_runtime(variant, store, RuntimeOptions(device, threads))
    runtime.load()
    try:
        if variant.lengths is not None:
            return _measure_lengths(variant, runtime, device, budget_s, report)
        return _measure_sizes(variant, runtime, device, budget_s, report)
    except AccordError:
        raise
    except Exception as error:
        raise not_measurable(variant, error) from error
    finally:
        runtime.unload()


def _measure_sizes(
    variant: Variant, runtime: ModelRuntime, device: str, budget_s: float, report: Callable[[float], None]
) -> LatencyProfile:
    sizes = [size for size in BATCH_SIZES if size <= variant.max_batch]
    inputs = {size: sample_of(variant, size) for size in sizes}
    done = 0

    def run(size: int) -> None:
        runtime.run(inputs[size])

    def finished(*_: object) -> None:
        nonlocal done
        done += 1
        report(done / len(sizes))

    report(0.0)
    return profile_variant(run, device, budget_s, batch_sizes=sizes, on_progress=finished)


def _measure_lengths(
    variant: Variant, runtime: ModelRuntime, device: str, budget_s: float, report: Callable[[float], None]
) -> LatencyProfile:
    assert variant.lengths is not None
    inputs = cache(partial(sample_of, variant))

    def run(length: int, size: int) -> None:
        runtime.run(inputs(size, length))

    report(0.0)
    return profile_lengths(run, device, budget_s, variant.lengths, variant.max_batch, on_progress=report)


def _reporter(variant: str, before: int, total: int, on_progress: OnProgress | None) -> Callable[[float], None]:
    """Turns the share of one variant that is done into the share of all."""

    def report(share: float) -> None:
        if on_progress is not None:
            on_progress(variant, (before + share) / total)

    return report
