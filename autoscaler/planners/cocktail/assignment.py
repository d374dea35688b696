"""Which worker holds which member."""

from collections import Counter
from collections.abc import Mapping

from autoscaler.cluster.observation import Observation
from autoscaler.planners.cocktail.member_workers import Market, kept
from autoscaler.planners.cocktail.procurement import NEGLIGIBLE, Offer, procure

THERE = "there: "
"""Before the device type of workers that nobody keeps, where they are offered."""


class Assignment:
    """Fills up member by member; call `keep`, `fill`, `share_out` and `double_up` in this order, once each.

    ``held`` is what every worker holds, those to come by the names that a plan gives them.
    """

    def __init__(self, observation: Observation, market: Market) -> None:
        self._market = market
        self._workers = dict(sorted(observation.devices.items()))
        self._before = observation.held
        self._growth = dict(market.growth)
        self._bought: Counter[str] = Counter()
        self._devices = dict(self._workers)
        self.held: dict[str, frozenset[str]] = {}

    @property
    def borne_qps(self) -> dict[str, float]:
        """What the workers of each member bear; one that holds several has an equal part of its time for each."""
        borne: dict[str, float] = {}
        for worker, members in self.held.items():
            for member in members:
                capacity_qps = self._market.capacities_qps[self._devices[worker], member]
                borne[member] = borne.get(member, 0.0) + capacity_qps / len(members)
        return borne

    def keep(self, wanted_qps: Mapping[str, float]) -> None:
        """Members keep of their workers what they need."""
        own = {member: self._holding(member, wanted_qps) for member in wanted_qps}
        for member, load_qps in wanted_qps.items():
            devices = [self._workers[worker] for worker in own[member]]
            counts = kept(member, load_qps, devices, self._market)
            for device, count in zip(sorted(set(devices)), counts, strict=True):
                for worker in [worker for worker in own[member] if self._workers[worker] == device][:count]:
                    self._give(worker, device, member)

    def fill(self, wanted_qps: Mapping[str, float]) -> Counter[str]:
        """Members get what they lack, the one that lacks most first; gives the workers procured by device type.

        Where there is not enough for all, workers go one by one to whoever has the least of what it needs.
        """
        before = self.held.copy(), self._devices.copy(), self._bought.copy(), self._growth.copy()
        short = [self._procure(member, lacking_qps) for member, lacking_qps in self._lacking(wanted_qps)]
        if any(short):
            self.held, self._devices, self._bought, self._growth = before
            while any(self._take_one(member, lacking_qps) for member, lacking_qps in self._lacking(wanted_qps)):
                pass
        return self._bought

    def share_out(self, wanted_qps: Mapping[str, float]) -> frozenset[str]:
        """Workers that are left go to whoever has the least room, where pools are fixed; the others are spare.

        A spare worker holds what it held.
        """
        spare = set()
        borne_qps = self.borne_qps
        for device, workers in self._idle().items():
            fitting = [m for m in wanted_qps if (device, m) in self._market.capacities_qps]
            for worker in workers:
                if device in self._market.growth:
                    spare.add(worker)
                    known = [m for m in self._before.get(worker, ()) if (device, m) in self._market.capacities_qps]
                    if known:
                        self.held[worker] = frozenset(known)
                elif fitting:
                    least = min(fitting, key=lambda m: (borne_qps.get(m, 0.0) / wanted_qps[m], m))
                    borne_qps[least] = borne_qps.get(least, 0.0) + self._market.capacities_qps[device, least]
                    self._give(worker, device, least)
        return frozenset(spare)

    def double_up(self, wanted_qps: Mapping[str, float]) -> None:
        """A member without a worker is held beside others: where it was, or by the worker that holds the fewest."""
        for member in sorted(wanted_qps.keys() - {each for held in self.held.values() for each in held}):
            able = [
                worker
                for worker, held in self.held.items()
                if self._market.hold_together(self._devices[worker], {*held, member})
            ]
            if able:
                fewest = min(able, key=lambda w: (member not in self._before.get(w, ()), len(self.held[w]), w))
                self.held[fewest] |= {member}

    # -- inner steps ------------------------------------------------------------------------------------------

    def _lacking(self, wanted_qps: Mapping[str, float]) -> list[tuple[str, float]]:
        """The members that lack something and how much, the one with the least of what it needs first."""
        borne_qps = self.borne_qps
        lacking = {member: qps - borne_qps.get(member, 0.0) for member, qps in wanted_qps.items()}
        order = sorted(lacking, key=lambda member: (-lacking[member] / wanted_qps[member], member))
        return [(each, lacking[each]) for each in order if lacking[each] > NEGLIGIBLE * wanted_qps[each]]

    def _offers(self, member: str, idle: Mapping[str, list[str]]) -> list[Offer]:
        """Workers that a member can have: those that nobody holds, and others to come."""
        there = [
            Offer(THERE + device, self._market.price_there_per_h(device), qps, len(workers))
            for device, workers in idle.items()
            if (qps := self._market.capacities_qps.get((device, member)))
        ]
        return [*there, *self._market.offers(member, self._growth)]

    def _procure(self, member: str, lacking_qps: float) -> bool:
        """Give a member all that it lacks, or what there is; gives whether that was too little."""
        idle = self._idle()
        purchase = procure(lacking_qps, self._offers(member, idle))
        for kind, count in purchase.workers:
            for _ in range(count):
                self._take(member, kind, idle)
        return purchase.missing_qps > NEGLIGIBLE * max(lacking_qps, 1.0)

    def _take_one(self, member: str, lacking_qps: float) -> bool:
        """Give a member one worker of those that it would take; gives whether there was one."""
        idle = self._idle()
        purchase = procure(lacking_qps, self._offers(member, idle))
        if purchase.workers:
            self._take(member, purchase.workers[0][0], idle)
        return bool(purchase.workers)

    def _take(self, member: str, kind: str, idle: Mapping[str, list[str]]) -> None:
        device = kind.removeprefix(THERE)
        self._give(self._next(device) if device == kind else idle[device].pop(0), device, member)

    def _holding(self, member: str, wanted_qps: Mapping[str, float]) -> list[str]:
        """The workers that hold a member; one that holds several counts for the first of them by name."""
        return [
            worker
            for worker, device in self._workers.items()
            if min((m for m in self._before.get(worker, ()) if m in wanted_qps), default=None) == member
            and (device, member) in self._market.capacities_qps
        ]

    def _idle(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for worker, device in self._workers.items():
            if worker not in self.held:
                found.setdefault(device, []).append(worker)
        return found

    def _next(self, device: str) -> str:
        """The name of another worker to come."""
        self._bought[device] += 1
        self._growth[device] -= 1
        return f"{device}+{self._bought[device]}"

    def _give(self, worker: str, device: str, member: str) -> None:
        self._devices[worker] = device
        self.held[worker] = frozenset((member,))
