"""Load balancers by the name that a config gives."""

from catalog.errors import ConfigError
from dispatch.balancing.balancer import LoadBalancer
from dispatch.balancing.bin_packing import BinPacking
from dispatch.balancing.round_robin import RoundRobin
from dispatch.balancing.shortest_queue import ShortestQueue

BALANCERS = ("round_robin", "shortest_queue", "bin_packing", "central")


def create_balancer(name: str) -> LoadBalancer | None:
    """The balancer of that name, None for ``central``; raises `ConfigError` with the known names for another."""
    if name == "round_robin":
        return RoundRobin()
    if name == "shortest_queue":
        return ShortestQueue()
    if name == "bin_packing":
        return BinPacking()
    if name == "central":
        return None
    raise ConfigError(f"unknown balancing {name!r}; known: {', '.join(BALANCERS)}")
