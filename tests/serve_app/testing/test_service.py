"""Which processes below a service are its workers."""

import os

import pytest

from chaos_scene import called
from serve_app.testing.service import Service

TITLE = "ray::ServeReplica:accord:"
SERVICE = Service("http://127.0.0.1:8000", os.getpid(), 1.0)


def test_a_worker_is_one_also_while_it_runs_a_method() -> None:
    titles = ("cpu", "cpu.handle_request", "cpu-2", "cpux.handle_request", "gpu", "gpu.v2.handle_request", "Router")
    with called(*(f"{TITLE}{each}" for each in titles)) as there:
        pids = [process.pid for process in there]
        assert sorted(SERVICE.workers("accord", "cpu")) == sorted(pids[:2])
        assert SERVICE.workers("accord", "gpu.v2") == [pids[5]]


def test_a_pool_without_workers_is_told() -> None:
    with called(f"{TITLE}cpu"), pytest.raises(RuntimeError, match="'ray::ServeReplica:accord:gpu'"):
        SERVICE.workers("accord", "gpu")
