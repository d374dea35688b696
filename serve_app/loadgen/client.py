"""The open-loop client: every query leaves at its own instant, whatever came back of the others."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

import aiohttp
import numpy as np
from numpy.typing import NDArray
from yarl import URL

from catalog.tensor import TensorSpec
from serve_app.loadgen.answer import BAD_ANSWER, NO_ANSWER, Answer, read_answer
from serve_app.loadgen.dataset import JSON_BYTES, Dataset
from serve_app.loadgen.failure import CATCH, describe_failure
from serve_app.loadgen.record import Record, Run
from serve_app.loadgen.same_class import same_class

KEEP_ALIVE_S = 4.0
"""An idle connection is dropped after this time: before a server with the common limit of 5 s closes it in our face."""
DUE_TOGETHER = 32
"""Queries that may go out without a pause when they are due."""
STOP_POLL_S = 0.1
RETRY_AFTER = "Retry-After"
WRONG_ANSWER = "wrong_answer"
"""Kind of the error where a query got the answer to another one."""


class OpenLoopClient:
    """Sends the data set round and round to one address. ``sent``, ``ended`` and ``failed`` may be watched meanwhile.

    A query that is not answered in ``timeout_s`` fails. ``clock`` gives monotonic seconds; ``headers`` go with every
    query. ``classes`` are the names that labels of answers count, where they are numbers. ``class_output`` says the
    class where no output is named ``label``. One run per object.
    """

    def __init__(
        self,
        infer_url: str,
        dataset: Dataset,
        timeout_s: float,
        clock: Callable[[], float] = time.perf_counter,
        headers: Mapping[str, str] | None = None,
        classes: Sequence[str] = (),
        class_output: TensorSpec | None = None,
    ) -> None:
        self.sent = 0
        self.failed = 0
        self._url = URL(infer_url)
        self._server_url = str(self._url.origin())
        self._dataset = dataset
        self._timeout_s = timeout_s
        self._clock = clock
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._classes = tuple(classes)
        self._class_output = None if dataset.labels is None else class_output
        self._start = 0.0
        self._records: list[Record] = []
        self._pending: set[asyncio.Task[None]] = set()

    @property
    def ended(self) -> int:
        """Queries that were answered or failed."""
        return len(self._records)

    async def run(self, times_s: NDArray[np.float64], duration_s: float, stop: asyncio.Event) -> Run:
        """Send a query at each of ``times_s`` and wait for the answers; ``stop`` ends sending and waiting at once."""
        # No limit on connections: a limit would make queries wait for answers, which closes the loop.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ttl_dns_cache=None)
        async with aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=self._timeout_s),
            headers=self._headers,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding"),
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            try:
                await self._send_all(session, times_s, stop)
                while self._pending and not stop.is_set():
                    await asyncio.wait(self._pending, timeout=STOP_POLL_S)
            finally:
                for task in self._pending:
                    task.cancel()
                await asyncio.gather(*self._pending, return_exceptions=True)
        records = tuple(sorted(self._records, key=lambda record: record.intended_s))
        stopped_s = min(self._clock() - self._start, duration_s) if stop.is_set() else duration_s
        return Run(records, self.sent, stopped_s, interrupted=stop.is_set())

    async def _send_all(
        self, session: aiohttp.ClientSession, times_s: NDArray[np.float64], stop: asyncio.Event
    ) -> None:
        self._start = self._clock()
        in_a_row = 0
        for index, intended_s in enumerate(times_s.tolist()):
            # What is due goes out together: one a turn of the loop would fall behind whenever many answers come at
            # once. But a sender that is always late must let answers in and queries start, too.
            while (wait_s := self._start + intended_s - self._clock()) > 0 or in_a_row >= DUE_TOGETHER:
                in_a_row = 0
                await asyncio.sleep(min(max(wait_s, 0.0), STOP_POLL_S))
                if stop.is_set():
                    return
            in_a_row += 1
            task = asyncio.create_task(self._query(session, index % len(self._dataset.bodies), intended_s))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)
            self.sent += 1

    async def _query(self, session: aiohttp.ClientSession, index: int, intended_s: float) -> None:
        sent_s = self._clock() - self._start
        retry_after = False
        try:
            body, headers = self._dataset.bodies[index], self._dataset.headers(index)
            async with session.post(self._url, data=body, headers=headers) as response:
                content = await response.read()
                json_bytes = response.headers.get(JSON_BYTES)
                retry_after = RETRY_AFTER in response.headers
            done_s = self._clock() - self._start
            answer = self._own(read_answer(response.status, content, json_bytes, self._class_output), index)
        except CATCH as error:
            done_s = self._clock() - self._start
            kind, text = describe_failure(error, self._server_url, self._timeout_s)
            answer = Answer(NO_ANSWER, error_kind=kind, error=text)
        except Exception as error:  # a redirect to what cannot be a host is a UnicodeError, for one
            done_s = self._clock() - self._start
            text = f"cannot read what {self._server_url} answered: {type(error).__name__}: {error}"
            answer = Answer(NO_ANSWER, error_kind=BAD_ANSWER, error=text)
        truth = self._dataset.label(index)
        correct = None
        if truth is not None and answer.label is not None and (self._dataset.of_emulated or not answer.emulated):
            correct = same_class(truth, answer.label, self._classes)
        self.failed += answer.error is not None
        self._records.append(
            Record(
                intended_s,
                sent_s,
                done_s,
                answer.status,
                answer.variant,
                answer.expected_accuracy,
                answer.deadline_met,
                correct,
                answer.error_kind,
                answer.error,
                answer.emulated,
                retry_after,
                answer.timing,
            )
        )

    def _own(self, answer: Answer, index: int) -> Answer:
        """The answer, or an error of kind ``wrong_answer`` where it is to another query."""
        ids = self._dataset.ids
        if ids is None or answer.error is not None or answer.id == ids[index]:
            return answer
        text = f"query {ids[index]!r} got the answer to {answer.id!r}"
        return Answer(answer.status, error_kind=WRONG_ANSWER, error=text)
