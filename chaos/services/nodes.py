"""Two workers on two nodes of a Ray cluster beside the head, all on this machine; nodes may be lost and come."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import yaml

from chaos.services.apart import namespace
from chaos.services.digits import BEST, CONFIG, ENDPOINT, MOST_QPS, START_WITHIN_S
from chaos.services.family import family
from chaos.services.models import right
from chaos.services.numbered import numbered
from chaos.services.own_proxy import own_proxy
from chaos.services.ray_nodes import LABEL, NODE_CPUS, RayNodes
from chaos.services.under_test import UnderTest
from serve_app.loadgen.dataset import load_dataset
from serve_app.testing.free_ports import find_free_port
from serve_app.testing.service import running

POOLS = ("on-demand", "spot")
"""With a worker each, on a node of their own."""

APART = "spot"
"""Whose node is in a network namespace, where there is one."""


@contextmanager
def nodes(name: str, folder: Path, apart: bool = False) -> Iterator[UnderTest]:
    """`accord run` on a cluster of its own, until the block ends.

    With ``apart`` one node is in a network namespace. Raises RuntimeError where it does not start.
    """
    content = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    content["proxy_location"] = "HeadOnly"  # one port, and all nodes on one machine
    content["http_options"]["port"] = find_free_port()
    args = content["applications"][0]["args"]
    args["pools"] = {
        pool: {"workers": 1, "num_cpus": NODE_CPUS, "label_selector": {LABEL: pool}, "preemptible": pool == "spot"}
        for pool in POOLS
    }
    args["router_num_cpus"] = NODE_CPUS + 0.1
    args["controller"] = {"num_cpus": NODE_CPUS + 0.1, "state": str(folder / "state" / "controller.db")}
    data = numbered(load_dataset("test"))
    with ExitStack() as stack:
        proxy, proxy_env = stack.enter_context(own_proxy())
        own = stack.enter_context(namespace()) if apart else None
        cluster = stack.enter_context(RayNodes(POOLS, proxy_env, own, APART))
        service = stack.enter_context(running(content, folder, ENDPOINT, data.bodies[0], cluster.env, START_WITHIN_S))
        yield UnderTest(
            name,
            service.url,
            ENDPOINT,
            float(args["endpoints"][ENDPOINT]["slo_ms"]),
            data,
            folder,
            lambda: family([service.pid, *cluster.roots], proxy),
            MOST_QPS,
            right(BEST, len(data.bodies)),
            {"nodes": cluster},
        )
