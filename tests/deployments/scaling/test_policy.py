"""The policy as a plain object: it says what was read last, and never reads when it is asked."""

import gc
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from deployments.scaling import policy as scaling_policy
from deployments.scaling.policy import PlannedSize

CONTEXT = SimpleNamespace(target_num_replicas=5, app_name="app", deployment_name="gpu")

THREAD = "accord-pool-size"


class Published:
    """A size that tests set, and that counts who reads it on which thread."""

    def __init__(self) -> None:
        self.size: int | Exception | None = None
        self.threads: list[str] = []
        self._read_again = threading.Semaphore(0)

    def read(self, application: str, pool: str) -> int | None:
        assert (application, pool) == ("app", "gpu")
        self.threads.append(threading.current_thread().name)
        size = self.size
        self._read_again.release()
        if isinstance(size, Exception):
            raise size
        return size

    def set(self, size: int | Exception | None) -> None:
        """Publish, and wait until the thread has taken note: the second read from here on begins after the first."""
        while self._read_again.acquire(blocking=False):
            pass
        self.size = size
        for _ in range(3):
            assert self._read_again.acquire(timeout=60)


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Iterator[Published]:
    made = Published()
    monkeypatch.setattr(scaling_policy, "REFRESH_S", 0.001)
    monkeypatch.setattr(scaling_policy.pool_sizes, "read", made.read)
    yield made
    gc.collect()
    for thread in following():
        thread.join(60)
    assert following() == []


def asked() -> PlannedSize:
    """A policy that Serve has asked once: it learns from that whose size to follow."""
    policy = PlannedSize()
    assert policy(CONTEXT)[0] == 5
    return policy


def following() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def test_a_pool_keeps_its_size_until_one_is_published(published: Published) -> None:
    policy = asked()
    published.set(None)
    assert policy(CONTEXT) == (5, {})
    published.set(3)
    assert policy(CONTEXT) == (3, {})
    published.set(0)
    assert policy(CONTEXT) == (0, {})


def test_a_size_that_cannot_be_read_leaves_the_last_and_is_logged_once(
    published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    policy = asked()
    published.set(3)
    published.set(ConnectionError("no store"))
    assert policy(CONTEXT) == (3, {})
    assert [record.message for record in caplog.records] == [
        "Pool gpu stays as it is: the size it shall have cannot be read: ConnectionError: no store"
    ]
    published.set(4)
    assert policy(CONTEXT) == (4, {})


def test_asking_reads_nothing(published: Published) -> None:
    policy = asked()
    published.set(3)
    for _ in range(100):
        policy(CONTEXT)
    assert set(published.threads) == {THREAD}


def test_the_thread_ends_with_the_policy(published: Published) -> None:
    policy = asked()
    published.set(3)
    assert len(following()) == 1
    del policy
    gc.collect()
    for thread in following():
        thread.join(60)
    assert following() == []
