"""What a service says of itself while it dies and comes back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from raw_server import CUT_OFF, NO_HTTP, raw_server, whole

from chaos.probes.service import ready, restored
from chaos_scene import bench_of, trial_on


@contextmanager
def saying(folder: Path, *answers: bytes) -> Iterator[None]:
    """A service without workers that gives these answers, in an experiment."""
    bench = bench_of([], folder)
    bench.whole = {"worker": 0}
    with raw_server(*answers) as url:
        bench.service = replace(bench.service, url=url)
        with trial_on(bench):
            yield


def test_a_service_is_waited_for_over_answers_that_break_off(tmp_path: Path) -> None:
    with saying(tmp_path, CUT_OFF, NO_HTTP, whole(b'{"workers":{}}'), whole(b"")):
        assert restored(within_s=60.0) >= 0.0


def test_a_service_that_breaks_off_its_answer_is_not_ready(tmp_path: Path) -> None:
    with saying(tmp_path, NO_HTTP, whole(b"", "503 Not Ready"), whole(b"")):
        assert [ready(), ready(), ready()] == [False, False, True]
