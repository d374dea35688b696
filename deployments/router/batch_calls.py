"""The router's batches on their way to workers and back."""

import logging
from collections.abc import Callable, Iterable

from catalog.lengths import LengthRule
from catalog.tensor import Arrays
from deployments.router.stacking import stack, unstack
from deployments.router.workers import RouterWorkers, Spawn
from deployments.worker.client import WorkerGone
from dispatch.commands import Command, GiveUp
from dispatch.dispatcher import Dispatcher
from dispatch.query import Batch

logger = logging.getLogger("ray.serve")


class BatchCalls:
    """Calls workers for a dispatcher and tells it what came back; lives on the router's event loop.

    How long a call may take is for the dispatcher to say. ``carry_out`` gets its commands.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        workers: RouterWorkers,
        clock: Callable[[], float],
        carry_out: Callable[[Iterable[Command]], None],
        spawn: Spawn,
    ) -> None:
        self._dispatcher = dispatcher
        self._workers = workers
        self._clock = clock
        self._carry_out = carry_out
        self._spawn = spawn

    def launch(self, batch: Batch) -> None:
        """Begin to run a batch; returns at once."""
        endpoint = self._dispatcher.plan.endpoints.get(batch.endpoint)
        lengths = None if endpoint is None else endpoint.stages[batch.stage.stage].lengths
        rule = None if lengths is None else lengths.rule
        self._workers.calls[batch.worker].add(self._spawn(self._run(batch, rule)))

    def give_up(self, command: GiveUp) -> None:
        """See `GiveUp`; returns at once."""
        batch = command.batch
        logger.warning(
            "Worker %s has not answered for %.1f s (%d rows on variant %s); others get its queries until it does.",
            batch.worker,
            command.after_s,
            batch.rows,
            batch.variant,
        )
        self._workers.give_up(batch.worker)

    async def measure(self, worker: str, variant: str, rows: int, inputs: Arrays) -> None:
        """Run a batch of no query, to learn what it takes; raises `WorkerGone`."""
        launched_s = self._clock()
        result = await self._workers.client(worker).run(worker, variant, inputs)
        if result.error is None:
            now_s = self._clock()
            self._dispatcher.on_measured(worker, variant, rows, result.run_s, now_s - launched_s, now_s)

    async def _run(self, batch: Batch, rule: LengthRule | None) -> None:
        try:
            inputs = stack(batch, rule)
            result = await self._workers.client(batch.worker).run(batch.worker, batch.variant, inputs)
            now_s = self._clock()
            if result.error is None:
                outputs = unstack(batch, result.outputs, rule)
                commands = self._dispatcher.on_done(
                    batch.worker, batch.id, outputs, result.run_s, now_s, result.waited_s
                )
            else:
                commands = self._dispatcher.on_failed(batch.worker, batch.id, result.error, now_s)
        except WorkerGone as error:
            logger.warning("Worker %s did not answer a batch: %s", batch.worker, error)
            self._workers.lose(batch.worker, died=error.died)
            return
        except Exception as error:  # a fault of ours, such as inputs that do not stack: nobody may wait for ever
            logger.exception("A batch could not be run.")
            commands = self._dispatcher.on_failed(batch.worker, batch.id, str(error), self._clock())
        self._carry_out(commands)
        self._workers.ended(batch)
