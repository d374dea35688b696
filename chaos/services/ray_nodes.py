"""A Ray cluster whose nodes are processes of this machine."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psutil
from ray.cluster_utils import Cluster

from chaos.services.apart import Namespace
from serve_app.cli.run.environment import SERVE_ENV
from serve_app.testing.free_ports import find_free_port

LABEL = "ray.io/market-type"
HEAD_CPUS, NODE_CPUS = 4, 1
"""What Ray believes: routers and controllers ask for more than a node of workers has, and so stay on the head."""

STOP_S = 10.0


class RayNodes:
    """A head, and a node for each pool, with the pool as label `LABEL`; ends with its block.

    ``env`` is for all of its processes. With ``apart`` the node of pool ``apart_pool`` lives in that namespace.
    """

    def __init__(
        self, pools: Sequence[str], env: Mapping[str, str], apart: Namespace | None = None, apart_pool: str = ""
    ) -> None:
        self._folder = Path(mkdtemp(prefix="chr"))  # Ray's socket paths have to be short
        proxy = shutil.which("accord-haproxy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        proxied = {} if proxy is None else {"RAY_SERVE_HAPROXY_BINARY_PATH": proxy}
        # With folders of its own nobody else here may take it for their cluster.
        self._env = {**SERVE_ENV, **proxied, **env, "RAY_TMPDIR": str(self._folder)}
        self._pools = pools
        self._apart, self._apart_pool = apart, apart_pool
        self._cluster: Any = None
        self._of_pool: dict[str, list[Any]] = {pool: [] for pool in pools}
        self._within: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "RayNodes":
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._within is not None:
            _kill(_tree(self._within.pid))
            self._within.wait(STOP_S)
        with suppress(Exception):
            self._cluster.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def env(self) -> dict[str, str]:
        """What has a service run on it."""
        return {**self._env, "RAY_ADDRESS": self._cluster.address}

    @property
    def roots(self) -> list[int]:
        """The processes that began its nodes' processes."""
        nodes = [self._cluster.head_node, *(node for nodes in self._of_pool.values() for node in nodes)]
        return [pid for node in nodes for pid in _pids(node)] + ([] if self._within is None else [self._within.pid])

    def add(self, pool: str) -> None:
        """A node for the workers of a pool comes."""
        address = {} if self._apart is None else {"node_ip_address": self._apart.outside}
        with _environment(self._env):
            node = self._cluster.add_node(wait=False, num_cpus=NODE_CPUS, labels={LABEL: pool}, **address)
        self._of_pool[pool].append(node)

    def lose(self, pool: str) -> set[int]:
        """The oldest node of a pool is gone with all of its processes at once (SIGKILL); gives their ids."""
        node = self._of_pool[pool].pop(0)
        processes = [process for pid in _pids(node) for process in _tree(pid)]
        _kill(processes)
        with suppress(Exception):
            self._cluster.remove_node(node, allow_graceful=False)
        return {process.pid for process in processes}

    def announce_loss(self, pool: str, notice_s: int) -> None:
        """Tell Ray that the oldest node of a pool is preempted after so many seconds; RuntimeError where it refuses."""
        command = [
            str(Path(sys.executable).with_name("ray")),
            *("drain-node", "--address", self._cluster.address, "--node-id", self._of_pool[pool][0].node_id),
            *("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "preempted"),
            *("--deadline-remaining-seconds", f"{notice_s}"),
        ]
        done = subprocess.run(command, env={**os.environ, **self.env}, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"Ray does not drain the node of pool {pool}: {done.stderr.strip()[-500:]}")

    def cut_off(self, pool: str) -> AbstractContextManager[None]:
        """Nothing gets to the node of a pool or from it in the block; RuntimeError where it is not in a namespace."""
        if self._apart is None or pool != self._apart_pool:
            raise RuntimeError(f"the node of pool {pool!r} is not in a network namespace of its own")
        return self._apart.cut_off()

    def _begin(self) -> None:
        own = self._folder / "ray"
        own.mkdir()
        head = {
            "num_cpus": HEAD_CPUS,
            "include_dashboard": False,
            "dashboard_port": find_free_port(),
            "temp_dir": str(own),
        }
        if self._apart is not None:
            head["node_ip_address"] = self._apart.outside
        with _environment(self._env):
            self._cluster = Cluster(initialize_head=True, head_node_args=head)
        for pool in self._pools:
            if self._apart is not None and pool == self._apart_pool:
                self._begin_apart(self._apart, pool)
            else:
                self.add(pool)

    def _begin_apart(self, apart: Namespace, pool: str) -> None:
        command = [
            *apart.prefix,
            *(str(Path(sys.executable).with_name("ray")), "start", "--block", "--address", self._cluster.address),
            *("--node-ip-address", apart.inside, "--num-cpus", f"{NODE_CPUS}", "--labels", f"{LABEL}={pool}"),
        ]
        with (self._folder / "apart.log").open("wb") as log:
            self._within = subprocess.Popen(
                command, env={**os.environ, **self._env}, stdout=log, stderr=log, start_new_session=True
            )


def _pids(node: Any) -> list[int]:
    """The processes that Ray began for a node."""
    return [info.process.pid for group in node.all_processes.values() for info in group]


def _tree(pid: int) -> list[psutil.Process]:
    """A process and all below it; nothing where it has ended."""
    with suppress(psutil.NoSuchProcess):
        own = psutil.Process(pid)
        return [own, *own.children(recursive=True)]
    return []


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    """What this process starts in the block has these variables too."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
