"""How the user's application is set up: as its user would after a day of trying."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.live_value.user_service import BATCHES, Rule, user_service

REPLICAS = (1, 2)
ROOM = 1.1
"""A small model that bears so many times the highest load is fast enough for it."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tuned:
    """The best of what was tried.

    ``rule`` has the batches under which the most accurate variant answers most in time, with ``replicas``;
    ``throughput_qps`` is what each variant answers so.
    """

    rule: Rule
    replicas: int
    throughput_qps: Mapping[str, float]

    @property
    def accurate_qps(self) -> float:
        """Of the most accurate variant."""
        return self.throughput_qps[self.rule.accurate]

    def second(self, highest_qps: float) -> str | None:
        """The most accurate variant beside the best that alone bears this load, where that is not the small one.

        ``throughput_qps`` has the most accurate first.
        """
        others = [name for name in self.throughput_qps if name != self.rule.accurate]
        enough = next((name for name in others if self.throughput_qps[name] >= ROOM * highest_qps), None)
        return None if enough == self.rule.small else enough


def tune(variants: Sequence[str], folder: Path, bodies: list[bytes], slo_ms: float, say: Say) -> Tuned:
    """Try numbers of replicas and batches; ``variants`` are in the order of accuracy, the most accurate first."""
    best: tuple[float, int, Rule] | None = None
    first = Rule(variants[0], variants[-1])
    for replicas in REPLICAS:
        with user_service(first, list(variants), replicas, folder, bodies[0]) as service:
            for max_batch, wait_s, threaded in BATCHES:
                rule = replace(first, max_batch=max_batch, wait_s=wait_s, threaded=threaded)
                qps = service.throughput_qps(rule, bodies, slo_ms)
                say(f"{replicas} replicas, {rule.max_batch} rows, {1e3 * rule.wait_s:g} ms, {threaded=}: {qps:.0f}/s")
                if best is None or qps > best[0]:
                    best = qps, replicas, rule
    assert best is not None
    _, replicas, rule = best
    with user_service(rule, list(variants), replicas, folder, bodies[0]) as service:
        found = {name: service.throughput_qps(rule.only(name), bodies, slo_ms) for name in variants}
    return Tuned(rule, replicas, found)
