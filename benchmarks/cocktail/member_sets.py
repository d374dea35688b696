"""Who votes on what: the sets of members of every system, by constraint."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil, inf, sqrt
from statistics import NormalDist

from autoscaler.planners.cocktail.portfolio import Chosen, cheapest_together, member_loads
from autoscaler.planners.cocktail.procurement import Offer, procure
from benchmarks.cocktail.load import MEAN_QPS
from benchmarks.cocktail.models import ASKS, LATENCY_MARGIN_S, MIXES, MODELS, Ask
from benchmarks.cocktail.validation import Validation
from dispatch.ensemble.member import MemberSet
from simulator.pools.spot_market import MachinePool

WINDOW = 200
"""Requests over which the accuracy is averaged where it is judged (section 6.1)."""

MET = {"strict": 0.56, "relaxed": 0.96}
"""Share of requests that shall meet their target: what the paper reaches (Table 6)."""

SURPLUS = 0.01
"""Beyond that, since windows are drawn."""

ACCURACY_MARGIN = 0.002
"""Acc_margin of section 4.1, by which single models may miss."""

MEAN_S = {"strict": 0.15, "relaxed": inf}
"""What a query's members may take in the mean on busy machines: for the strict mix half of what the single model of
most of its queries takes on an idle one. Single models are faster than half of their own only with ensembles."""

MOST_MEMBERS = 5
"""Of our sets; the paper's own has 4 to 5 in most intervals (section 6.2.1)."""

PLANNED_HEADROOM = 1.3
"""Of machines where sets are compared; it is not tuned."""

SHORTFALL_COST = 100.0
"""Of all targets missed, or of a second in the mean, in dollars per hour: more than any set costs."""


def at_once(members: Sequence[str], accuracy: float, mean_s: float | None = None) -> MemberSet:
    """All of them for every query; in the mean it takes as long as the slowest where nothing is said."""
    slowest_s = max(MODELS[name].latency_s for name in members)
    shares = dict.fromkeys(members, 1.0)
    return MemberSet((tuple(members),), accuracy, slowest_s, slowest_s, mean_s or slowest_s, shares=shares)


def singles(ask: Ask) -> list[MemberSet]:
    """The single models that meet a constraint, the one first that takes the least of a machine: InFaaS."""
    meeting = [
        model
        for model in MODELS.values()
        if model.latency_s <= ask.latency_s + LATENCY_MARGIN_S and model.accuracy >= ask.accuracy - ACCURACY_MARGIN
    ]
    return [at_once([model.name], model.accuracy) for model in sorted(meeting, key=lambda model: model.machine_s)]


def everyone(ask: Ask) -> MemberSet:
    """All models that are faster than the one that the constraint is of: Clipper, as Table 3 counts its members."""
    names = [
        model.name for model in MODELS.values() if model.latency_s <= ask.latency_s and model.accuracy != ask.accuracy
    ]
    return at_once(names, ask.accuracy)


def met_share(accuracy: float, target: float) -> float:
    """What part of all windows reaches the target where requests are right with this probability, about."""
    needed = ceil(target * WINDOW - 1e-9) - 0.5  # right answers, between the whole numbers
    return 1.0 - NormalDist(accuracy * WINDOW, sqrt(accuracy * (1.0 - accuracy) * WINDOW)).cdf(needed)


def ours(mix: str, validation: Validation, pools: Sequence[MachinePool]) -> dict[str, MemberSet]:
    """The sets by constraint that cost least together of all that promise what is asked.

    Every set is right often enough on the validation votes for its constraint alone, and all together for as many
    windows as `MET` says and within `MEAN_S`. Costs are of whole machines at the first prices: of spot machines, or of
    those on demand where none is within its bid.
    """
    loads_qps = {ask.name: MEAN_QPS * share for ask, share in zip(ASKS, MIXES[mix], strict=True)}
    options = {ask.name: _options(ask, validation) for ask in ASKS}
    targets = {ask.name: ask.accuracy for ask in ASKS}
    offered = [pool for pool in pools if pool.preemptible and pool.offered_per_h(0.0) < inf]
    offered = offered or [pool for pool in pools if not pool.preemptible]
    known: dict[tuple[str, float], float] = {}

    def machines_per_h(member: str, load_qps: float) -> float:
        key = (member, round(load_qps, 3))
        if key not in known:
            offers = [Offer(p.device, p.offered_per_h(0.0), MODELS[member].qps_on(p.device)) for p in offered]
            known[key] = procure(load_qps * PLANNED_HEADROOM, offers).cost_per_h
        return known[key]

    def cost(chosen: Chosen) -> float:
        loads = member_loads(chosen, loads_qps)
        per_h = sum(machines_per_h(member, load_qps) for member, load_qps in loads.items())
        work = sum(MODELS[member].machine_s * load_qps for member, load_qps in loads.items())
        met = sum(loads_qps[name] * met_share(own.accuracy, targets[name]) for name, own in chosen.items()) / MEAN_QPS
        missed = max(MET[mix] + SURPLUS - met, 0.0)
        mean_s = sum(loads_qps[name] * own.mean_latency_s for name, own in chosen.items()) / MEAN_QPS
        missed += max(mean_s - MEAN_S[mix], 0.0)
        return per_h + 1e-3 * work + SHORTFALL_COST * missed

    starts = [{name: own[place * (len(own) - 1) // 7] for name, own in options.items()} for place in range(8)]
    return cheapest_together(options, starts, cost)


def _options(ask: Ask, validation: Validation) -> list[MemberSet]:
    """Sets that reach the target, by their use of machines; without those that a part of them does as well as."""
    fast = [model.name for model in MODELS.values() if model.latency_s <= ask.latency_s + LATENCY_MARGIN_S]
    accuracy = {
        names: validation.accuracy(*names) for size in range(1, MOST_MEMBERS + 1) for names in combinations(fast, size)
    }
    found = [
        names
        for names, own in accuracy.items()
        if own >= ask.accuracy and all(accuracy[part] < own for part in combinations(names, len(names) - 1) if part)
    ]
    found = found or [max(accuracy, key=lambda names: accuracy[names])]
    found.sort(key=lambda names: (sum(MODELS[name].machine_s for name in names), names))
    return [at_once(names, accuracy[names], validation.decided_s(*names)) for names in found]
