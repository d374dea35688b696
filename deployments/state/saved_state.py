"""What of a controller survives it."""

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autoscaler.demand.profile_drift import ProfileDrift
from autoscaler.demand.worker_drift import WorkerDrift
from autoscaler.placement.measured_interference import MeasuredSlowdowns
from autoscaler.placement.standing import Standing, WorkerVariant
from catalog.errors import ConfigError, StateUnavailable
from deployments.controller.variants.variant_book import VariantBook
from deployments.messages.control_settings import ControlSettings
from deployments.state.decisions import Decisions
from deployments.state.learned_weights import LearnedWeights
from deployments.state.load_history import HOUR_S, PREFIX, LoadHistory
from deployments.state.opening import StateIsBack
from deployments.state.start_ups import StartUps
from deployments.state.store import StateStore
from deployments.state.unloadable import UnloadableVariants

logger = logging.getLogger("ray.serve")

MOST_STANDINGS = 4
"""Plans that late reports may still be of."""


@dataclass
class ControllerState:
    """Everything that a controller learns: decisions, the load, how far profiles are off, variants, sizes, start-ups,
    and what labels said of the members of ensembles.

    ``unloadable`` is what could not be loaded lately, and ``standings`` by version how workers stand beside each other
    under the last plans, which the next controller finds out for itself. ``predictor`` is the digest of the predictor
    that ``slowdowns`` correct, None where there is none.
    """

    book: VariantBook
    decisions: Decisions = field(default_factory=Decisions)
    history: LoadHistory = field(default_factory=LoadHistory)
    runs: WorkerDrift = field(default_factory=WorkerDrift)
    transport: ProfileDrift = field(default_factory=ProfileDrift)
    sizes: dict[str, int] = field(default_factory=dict)
    start_ups: StartUps = field(default_factory=StartUps)
    learned: LearnedWeights = field(default_factory=LearnedWeights)
    slowdowns: MeasuredSlowdowns = field(default_factory=MeasuredSlowdowns)
    unloadable: UnloadableVariants = field(default_factory=UnloadableVariants)
    standings: dict[int, Mapping[WorkerVariant, Standing]] = field(default_factory=dict)
    predictor: str | None = None

    @classmethod
    def for_settings(cls, settings: ControlSettings) -> "ControllerState":
        """What a controller knows that has learned nothing yet."""
        predictor = None if settings.interference is None else settings.interference.digest
        return cls(VariantBook(settings), history=LoadHistory(settings.endpoints), predictor=predictor)

    def stand(self, version: int, standings: Mapping[WorkerVariant, Standing]) -> None:
        """Workers stand like this under the plan of that version."""
        self.standings[version] = standings
        while len(self.standings) > MOST_STANDINGS:
            del self.standings[min(self.standings)]

    def documents(self, now_s: float) -> dict[str, Any]:
        """All of it as JSON values by document, copied, to be written elsewhere."""
        return {
            "decisions": self.decisions.to_record(),
            "drift/runs": self.runs.to_record(now_s),
            "drift/transport": self.transport.to_record(now_s),
            "variants": self.book.to_record(),
            "sizes": dict(self.sizes),
            "start_ups": self.start_ups.to_record(),
            "learned": self.learned.to_record(),
            "slowdowns": {**self.slowdowns.to_record(now_s), "predictor": self.predictor},
            **self.history.take_documents(),
        }

    def restore(self, store: StateStore, now_s: float) -> None:
        """Take up what another controller left, where there was one; what makes no sense is logged and left out.

        Raises `StateUnavailable` where the store cannot be read just now: what is there must not be written over.
        """

        def take(name: str, use: Callable[[Any], object]) -> None:
            try:
                if (value := store.read(name)) is not None:
                    use(value)
            except StateUnavailable:
                raise
            except Exception:
                logger.exception("Of the saved state, %r cannot be read; the controller begins without it.", name)

        take("decisions", self.decisions.restore)
        take("variants", self.book.restore)
        take("sizes", self.sizes.update)
        take("start_ups", self.start_ups.restore)
        take("learned", self.learned.restore)
        take("drift/runs", lambda record: setattr(self, "runs", WorkerDrift.from_record(record, now_s)))
        take("drift/transport", lambda record: setattr(self, "transport", ProfileDrift.from_record(record, now_s)))
        take("slowdowns", functools.partial(self._restore_slowdowns, now_s=now_s))
        for at_s in (now_s - HOUR_S, now_s):
            take(self.history.document(at_s), functools.partial(self.history.restore, now_s=at_s))

    def _restore_slowdowns(self, record: Mapping[str, Any], now_s: float) -> None:
        """Corrections are over one predictor, and would count twice over one that was trained with what they rest on.

        Those that do not say over which, as of Accords of before, are left out as well: the upgrade may have brought
        another predictor, and they are learned again within minutes.
        """
        if self.predictor is not None and record.get("predictor") == self.predictor:
            self.slowdowns = MeasuredSlowdowns.from_record(record, now_s)
        elif record["keys"]:
            logger.info("Corrections of predicted slowdowns begin anew: those of before are of another predictor.")


def next_epoch(store: StateStore) -> int:
    """The number of this controller among all that ever used the store.

    Where it cannot be kept the next one may get it as well, and goes on from the versions that routers have.
    """
    try:
        epoch = int(store.read("epoch") or 0) + 1
    except StateUnavailable:
        raise
    except (ConfigError, ValueError, TypeError) as error:
        logger.error("The number of the controller before cannot be read, and is left out: %s", error)
        epoch = 1
    try:
        store.write("epoch", epoch)
    except (StateUnavailable, StateIsBack) as error:
        logger.error("The number of this controller, %d, could not be saved: %s", epoch, error)
    return epoch


def prune(store: StateStore, now_s: float) -> None:
    """Delete load that is too old to be of use; blocks."""
    for name in LoadHistory.outdated(store.names(PREFIX), now_s):
        store.delete(name)


def write_all(store: StateStore, documents: Mapping[str, Any]) -> None:
    """Write the documents; blocks."""
    for name, value in documents.items():
        store.write(name, value)
