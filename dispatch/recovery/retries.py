"""Which jobs of a batch that came to nothing are launched again, and what the others are told."""

from collections.abc import Iterator
from enum import Enum

from catalog.errors import AccordError
from dispatch import refusals
from dispatch.query import Batch, Job
from dispatch.queues.endpoint_queues import EndpointQueues
from dispatch.recovery.retry_budget import RetryBudget

MAX_ATTEMPTS = 3
"""Launches of one job that may come to nothing before its query is refused."""

MAX_LOSSES = 2
"""Workers that may die or hang while they run one job, the second time by itself, before its query is refused."""


class Loss(Enum):
    """Why a batch came to nothing: what its worker did, in words."""

    FAILED = "raised"  # the variant did
    GONE = "was lost"  # it was cut off, taken away or given to somebody else
    DIED = "died"
    OVERDUE = "did not answer"

    @property
    def suspicious(self) -> bool:
        """Whether a query of the batch may be at the bottom of it, so that each runs by itself from then on."""
        return self in (Loss.DIED, Loss.OVERDUE)


class Retries:
    """Jobs go on while their endpoint's rule about deadlines allows, within the ``budget``.

    The jobs of a batch whose variant raised run alone, on another worker (`StageQueues`) and another variant where they
    can; those of a worker that died or hangs run alone, so that of all of them only the one at fault is lost, with
    `MAX_LOSSES` workers at most.
    """

    def __init__(self) -> None:
        self.budget = RetryBudget()

    def after(
        self, batch: Batch, endpoint: EndpointQueues, loss: Loss, reason: str, now_s: float
    ) -> Iterator[tuple[Job, AccordError | None]]:
        """The batch's jobs that anyone waits for: to be launched again, or with why they are not.

        ``reason`` is what a variant raised.
        """
        withdrawn = endpoint.take_withdrawn(batch)
        affordable = self.budget.take(len(batch.jobs), now_s)
        drop_late = endpoint.plan.limits.drop_late
        for job in batch.jobs:
            if job.id in withdrawn:
                continue
            again = _again(job, batch, loss)
            if loss is Loss.DIED and again.losses >= MAX_LOSSES:
                yield job, refusals.poison(batch, again.losses)
            elif endpoint.removed:
                yield job, _refusal(batch, loss, reason, "its endpoint was removed meanwhile")
            elif again.attempt >= MAX_ATTEMPTS or again.losses >= MAX_LOSSES:
                yield job, _refusal(batch, loss, reason, f"it was launched {again.attempt} times")
            elif drop_late and job.deadline_s <= now_s:
                yield job, _refusal(batch, loss, reason, "its deadline has passed")
            elif not affordable:
                yield job, _refusal(batch, loss, reason, "too many queries are launched again just now")
            else:
                yield again, None


def _again(job: Job, batch: Batch, loss: Loss) -> Job:
    if loss is Loss.FAILED:
        return job._replace(attempt=job.attempt + 1, excluded=job.excluded | {(batch.worker, batch.variant)})
    return job._replace(attempt=job.attempt + 1, losses=job.losses + loss.suspicious)


def _refusal(batch: Batch, loss: Loss, reason: str, why: str) -> AccordError:
    if loss is Loss.FAILED:
        return refusals.variant_failed(batch, reason)
    return refusals.worker_lost(batch, loss.value, why)
