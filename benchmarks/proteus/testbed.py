"""The cluster, the endpoints and their objectives, made from files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoscaler.cluster.cluster import Cluster, Endpoint, Pool
from catalog.errors import ConfigError
from catalog.profiles.profile_table import TabledVariant, group_by_query_type, match_device, read_profile_table
from dispatch.selection.policy import Candidate

SLO_RULES = ("most_accurate", "cpu")


@dataclass(frozen=True)
class Testbed:
    """Endpoints with the variants of their query type, and workers by id with their device type.

    ``unused`` names variants of the profile file that belong to no query type.
    """

    cluster: Cluster
    workers: Mapping[str, str]
    unused: tuple[str, ...]

    @classmethod
    def of(
        cls,
        profiles: Path,
        workers: Mapping[str, int],
        types: Sequence[str],
        slo_multiple: float,
        slo_rule: str,
        slo_ms: Mapping[str, float] | None = None,
    ) -> "Testbed":
        """``slo_ms`` has objectives of single query types, whatever the rule says.

        Raises `ConfigError` for devices and types that the profile file does not know.
        """
        table = read_profile_table(profiles)
        known = {device for variant in table.values() for device in variant.latency_s}
        named: dict[str, str] = {}
        for device in workers:
            if (other := named.setdefault(full := match_device(device, sorted(known)), device)) != device:
                raise ConfigError(f"{other!r} and {device!r} are both {full}; give its workers once")
        grouped, unused = group_by_query_type(types, table)
        given_ms = slo_ms or {}
        if strangers := sorted(given_ms.keys() - grouped.keys()):
            raise ConfigError(f"objectives for {', '.join(strangers)}; query types are {', '.join(grouped)}")
        endpoints = []
        for query_type, names in grouped.items():
            variants = {name: table[name] for name in names}
            if query_type in given_ms:
                slo_s = given_ms[query_type] / 1e3
            else:
                slo_s = slo_multiple * _base_s(query_type, variants, sorted(known), sorted(named), slo_rule)
            candidates = {
                short: tuple(
                    Candidate(name, variant.normalised_accuracy_pct / 100, variant.latency_s[device])
                    for name, variant in variants.items()
                    if device in variant.latency_s
                )
                for device, short in named.items()
            }
            endpoints.append(Endpoint(query_type, slo_s, candidates))
        return cls(Cluster(tuple(endpoints), tuple(map(Pool, workers))), worker_ids(workers), tuple(unused))


def worker_ids(workers: Mapping[str, int]) -> dict[str, str]:
    """So many workers of each device type, by id."""
    return {
        f"{device}-{number:0{len(str(count))}d}": device for device, count in workers.items() for number in range(count)
    }


def zipf(types: Sequence[str], alpha: float = 1.001) -> dict[str, float]:
    """Parts of the load, in sum 1, that fall with the rank (Proteus, section 6.1.3)."""
    weights = [1 / rank**alpha for rank in range(1, len(types) + 1)]
    return {name: weight / sum(weights) for name, weight in zip(types, weights, strict=True)}


def _base_s(
    query_type: str, variants: Mapping[str, TabledVariant], known: Sequence[str], devices: Sequence[str], rule: str
) -> float:
    """The time that the objective is a multiple of; ``devices`` of all that are ``known`` are in the cluster.

    ``cpu``: one row on the fastest variant on the CPU, which is Proteus, section 6.1.2, to the letter. Where that is
    short, the most accurate variant never fits half of twice as much on any device, although it is in use throughout
    the paper. ``most_accurate``: the same, and no less than one row on the most accurate variant, on the device where
    it is fastest.
    """
    cpus = [device for device in known if "cpu" in device.lower()]
    on_cpu = [v.latency_s[device][1] for device in cpus for v in variants.values() if device in v.latency_s]
    if not on_cpu:
        raise ConfigError(
            f"no variant of {query_type!r} has a profile on a CPU, which objectives are made from; "
            "add one on a device type with cpu in its name, or give its objective with --slo-ms"
        )
    if rule == "cpu":
        return min(on_cpu)
    runnable = [v for v in variants.values() if any(device in v.latency_s for device in devices)]
    if not runnable:
        raise ConfigError(
            f"no variant of {query_type!r} runs on {', '.join(devices)}; add workers of another device type"
        )
    best = max(runnable, key=lambda v: v.normalised_accuracy_pct)
    return max(min(on_cpu), min(best.latency_s[device][1] for device in devices if device in best.latency_s))
