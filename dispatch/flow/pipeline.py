"""The flow of an endpoint whose queries run through several stages (IPA, section 3)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import cast

from catalog.errors import AccordError
from catalog.tensor import Arrays
from dispatch import refusals
from dispatch.commands import NO_VOTES, Answer, BatchDone, Outcome, Reject
from dispatch.flow.flow import Step
from dispatch.flow.open_pipeline import NO_OUTPUTS, OpenPipeline, OpenStage
from dispatch.pipeline.graph import QUERY, Graph, Node
from dispatch.query import FRESH, Job, Query, quick

GIVE_UP_AFTER = 2.0
"""A query is given up when it is older than this many times the time that it had (section 4.5)."""


class PipelineFlow:
    """Runs the stages of a ``graph``, which are those of the endpoint, and answers when all are done or were skipped.

    A stage's jobs begin together when its sources are done. Where an adapter raises, or a job fails for good, the query
    ends with that error and its other jobs are withdrawn. All jobs have the query's own deadline: a query ends between
    two stages that comes too late there, where late queries are dropped, and anywhere when it is older than
    `GIVE_UP_AFTER` times what it was allowed.

    An answer's accuracy is the product over the stages that ran, unless ``measured_accuracy`` has that of the whole
    pipeline for the variants that ran it, in the order of the nodes.
    """

    name = "pipeline"

    def __init__(self, graph: Graph, measured_accuracy: Mapping[tuple[str, ...], float] | None = None) -> None:
        self.graph = graph
        self._measured_accuracy = dict(measured_accuracy or {})
        self._successors = graph.successors
        self._numbers = {node.name: number for number, node in enumerate(graph.nodes)}
        self._sources = [len(node.sources) for node in graph.nodes]
        self._first = [number for number, sources in enumerate(self._sources) if not sources]
        self._drop_late = False
        self._last_id = 0
        self._open: dict[int, OpenPipeline] = {}
        self._due: list[tuple[float, int]] = []

    @property
    def open_queries(self) -> int:
        """How many queries have neither an outcome nor been withdrawn."""
        return len(self._open)

    # -- queries ----------------------------------------------------------------------------------------------

    def start(self, query: Query, now_s: float) -> tuple[Job, Sequence[Job]] | Answer:
        """See `QueryFlow.start`; raises what adapters do, and where all stages are skipped."""
        due_s = max(query.arrival_s + GIVE_UP_AFTER * query.allowed_s, now_s)
        values = {QUERY: cast(Arrays, query.inputs)}
        opened = OpenPipeline(query, self._sources.copy(), len(self._sources), due_s, values)
        jobs = self._begin(opened, self._first, now_s)
        if not opened.left:
            return self._answer(opened, now_s)
        self._open[query.id] = opened
        due = self._due
        heappush(due, (due_s, query.id))
        if len(due) > 2 * len(self._open) + 8:
            self._due = [entry for entry in due if entry[1] in self._open]
            heapify(self._due)
        return jobs[0], jobs[1:]

    def on_done(self, done: BatchDone) -> Step:
        """See `QueryFlow.on_done`; jobs that were withdrawn belong to no open query."""
        enqueue: list[Job] = []
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        batch, every = done.batch, done.outputs  # a simulation has none
        name, opened_by_id = batch.stage.stage, self._open
        for position, job in enumerate(batch.jobs):
            opened = opened_by_id.get(job.query.id)
            if opened is None or opened.waiting.pop(job.id, None) is None:
                continue
            stage = opened.running[name]
            stage.on_result(job, every[position] if every else NO_OUTPUTS, done)
            if stage.left:
                continue
            try:
                enqueue += self._on_stage(opened, name, stage, done.done_s)
                if not opened.left:
                    outcomes.append(self._answer(opened, done.done_s))
                    del opened_by_id[job.query.id]
            except AccordError as error:
                self._refuse(opened, error, withdraw, outcomes)
        return quick(Step, (enqueue, withdraw, outcomes))

    def on_failed(self, job: Job, error: AccordError, now_s: float) -> Step:
        """See `QueryFlow.on_failed`."""
        opened = self._open.get(job.query.id)
        if opened is None or opened.waiting.pop(job.id, None) is None:
            return Step()
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        self._refuse(opened, error, withdraw, outcomes)
        return Step((), withdraw, outcomes)

    def withdraw(self, query: Query) -> Sequence[Job]:
        """See `QueryFlow.withdraw`."""
        opened = self._open.pop(query.id, None)
        return [] if opened is None else list(opened.waiting.values())

    # -- time and workers -------------------------------------------------------------------------------------

    def answers_with(self, stages: Collection[str]) -> bool:
        """See `QueryFlow.answers_with`: every stage has a worker."""
        return len(stages) == len(self._numbers)

    @property
    def due_s(self) -> float:
        """See `TimedFlow.due_s`."""
        while self._due and self._due[0][1] not in self._open:
            heappop(self._due)
        return self._due[0][0] if self._due else inf

    def on_due(self, now_s: float) -> Step:
        """See `TimedFlow.on_due`: queries that are too old are given up."""
        withdraw: list[Job] = []
        outcomes: list[Outcome] = []
        while self.due_s <= now_s:
            opened = self._open[heappop(self._due)[1]]
            self._refuse(opened, refusals.given_up(opened.query, now_s), withdraw, outcomes)
        return Step((), withdraw, outcomes)

    def waits_for(self, job: Job) -> bool:
        """See `TimedFlow.waits_for`."""
        opened = self._open.get(job.query.id)
        return opened is not None and job.id in opened.waiting

    def on_limits(self, *, drop_late: bool) -> None:
        """See `TimedFlow.on_limits`."""
        self._drop_late = drop_late

    def on_served(self, stages: frozenset[str], now_s: float) -> Step:
        """See `TimedFlow.on_served`: jobs of a stage that no worker serves wait."""
        return Step()

    # -- inner steps ------------------------------------------------------------------------------------------

    def _on_stage(self, opened: OpenPipeline, name: str, stage: OpenStage, now_s: float) -> Sequence[Job]:
        """All jobs of a stage have results: those of the stages that begin now; raises what ends the query."""
        try:
            opened.values[name] = cast(Arrays, stage.joined())
        except Exception as error:
            raise refusals.not_joined(name, error) from error
        opened.on_stage(name, stage, now_s)
        ready = opened.follow(self._successors[stage.number])
        if not ready:
            return ()
        if now_s >= opened.give_up_s:
            raise refusals.given_up(opened.query, now_s)
        if self._drop_late and now_s >= opened.query.deadline_s:
            raise refusals.late_between_stages(opened.query, name, now_s)
        return self._begin(opened, ready, now_s)

    def _begin(self, opened: OpenPipeline, ready: Iterable[int], now_s: float) -> list[Job]:
        """Begin stages whose sources are done or were skipped, and those that follow at once; raises what they do."""
        ready = list(ready)
        made: list[Job] = []
        query, values = opened.query, opened.values
        for number in ready:  # which grows meanwhile
            node = self.graph.nodes[number]
            try:
                parts = node.parts(values) if self._runs(node, opened) else None
            except AccordError:
                raise
            except Exception as error:
                raise refusals.adapter_failed(f"what begins stage {node.name!r}", error) from error
            if parts:
                first_id = self._last_id + 1
                for inputs, rows in parts:
                    self._last_id += 1
                    fields = (self._last_id, query, query.deadline_s, rows, inputs, node.name, *FRESH, 0)
                    made.append(quick(Job, fields))
                opened.running[node.name] = OpenStage(number, first_id, len(parts), now_s)
                continue
            if parts is None:
                opened.skipped.add(node.name)
            else:
                values[node.name] = node.nothing
            opened.left -= 1
            ready += opened.follow(self._successors[number])
        for job in made:
            opened.waiting[job.id] = job
        return made

    def _runs(self, node: Node, opened: OpenPipeline) -> bool:
        skipped = opened.skipped
        if skipped and not skipped.isdisjoint(node.sources):
            nothing_left = skipped.issuperset(node.sources) and not node.independent
            if nothing_left or not skipped.isdisjoint(node.needs):
                return False
        return node.runs is None or node.runs(opened.values)

    def _answer(self, opened: OpenPipeline, now_s: float) -> Answer:
        """Of a query of which nothing is left to do; raises where there is none."""
        query = opened.query
        try:
            outputs = self.graph.answer(query, opened.values)
        except AccordError:
            raise
        except Exception as error:
            raise refusals.adapter_failed("what makes the answer of the stages", error) from error
        runs = tuple([opened.runs[number] for number in sorted(opened.runs)])
        accuracy = None
        if self._measured_accuracy and len(runs) == len(self.graph.nodes):
            accuracy = self._measured_accuracy.get(tuple([run.variant for run in runs]))
        return Answer(
            query,
            "+".join([f"{run.stage}:{run.variant}" for run in runs]),
            opened.accuracy if accuracy is None else accuracy,
            outputs,
            opened.batch_rows,
            min(opened.launched_s, now_s),
            now_s,
            opened.run_s,
            NO_VOTES,
            runs,
        )

    def _refuse(self, opened: OpenPipeline, error: AccordError, withdraw: list[Job], outcomes: list[Outcome]) -> None:
        del self._open[opened.query.id]
        withdraw += opened.waiting.values()
        outcomes.append(Reject(opened.query, error))
