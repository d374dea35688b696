"""The models and machines of the paper, and what queries ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

from dispatch.ensemble.member import Member
from dispatch.selection.policy import Candidate


@dataclass(frozen=True)
class Model:
    """A row of Table 1: top-1 accuracy (0 to 1), latency of one inference and packing factor, both on a c5.xlarge."""

    name: str
    accuracy: float
    latency_s: float
    packing_factor: int

    @property
    def machine_s(self) -> float:
        """Seconds of a c5.xlarge that a packed inference takes."""
        return self.latency_s / self.packing_factor

    def member(self) -> Member:
        """As ensembles are chosen: an inference costs the time that it takes of a machine."""
        return Member(self.name, self.latency_s, self.accuracy, self.packing_factor, self.latency_s)

    def qps_on(self, device: str) -> float:
        """What one machine of a pool bears when it is packed."""
        return machine_of(device).size / self.machine_s

    def candidate(self, machine: "Machine") -> Candidate:
        """On a machine: any batch up to the packing factor takes the latency (section 2.3.2: P_f is linear in size)."""
        return Candidate(self.name, self.accuracy, (0.0, *[self.latency_s] * (self.packing_factor * machine.size)))


MODELS: Mapping[str, Model] = {
    model.name: model
    for model in (
        Model("MobileNetV1", 0.7040, 0.04345, 10),
        Model("MobileNetV2", 0.7130, 0.0415, 10),
        Model("NASNetMobile", 0.7440, 0.07818, 3),
        Model("DenseNet121", 0.7500, 0.10235, 3),
        Model("DenseNet201", 0.7730, 0.15221, 2),
        Model("Xception", 0.7900, 0.1192, 4),
        Model("InceptionV3", 0.7790, 0.089, 5),
        Model("ResNet50V2", 0.7600, 0.0895, 6),
        Model("ResNet50", 0.7490, 0.09822, 5),
        Model("InceptionResNetV2", 0.8030, 0.15196, 1),
        Model("NASNetLarge", 0.8200, 0.311, 1),
    )
}
"""Cocktail, Table 1."""


@dataclass(frozen=True)
class Machine:
    """A kind of virtual machine: ``size`` times a c5.xlarge, its price on demand, and the time until it serves."""

    name: str
    size: int
    on_demand_per_h: float
    start_s: float


MACHINES = (
    Machine("c5.xlarge", 1, 0.154, 60.0),
    Machine("c5.2xlarge", 2, 0.308, 70.0),
    Machine("c5.4xlarge", 4, 0.616, 85.0),
    Machine("c5.8xlarge", 8, 1.232, 100.0),
)
"""Prices of Table 7; starts of 60 to 100 s by size (appendix C)."""

SPOT = "-spot"
"""After the name of a machine, for the pool of its transient ones."""


def machine_of(device: str) -> Machine:
    """The machine of a pool; raises KeyError for an unknown one."""
    return {machine.name: machine for machine in MACHINES}[device.removesuffix(SPOT)]


@dataclass(frozen=True)
class Ask:
    """A constraint of the paper (Figure 6): what one model offers, in latency without the way, and in accuracy."""

    name: str
    latency_s: float
    accuracy: float


ASKS = (
    Ask("const1", 0.311, 0.820),
    Ask("const2", 0.152, 0.803),
    Ask("const3", 0.120, 0.790),
    Ask("const4", 0.100, 0.750),
    Ask("const5", 0.098, 0.744),
)
"""NASNetLarge, InceptionResNetV2, Xception, DenseNet121 and NASNetMobile, as Table 3 has their latencies."""

LATENCY_MARGIN_S = 0.005
"""Lat_margin of section 4.1, which lets DenseNet121 and ResNet50 serve const4 as they do in the paper."""

MIXES: Mapping[str, tuple[float, ...]] = {
    "strict": (4 / 7, 2 / 7, 1 / 7, 0.0, 0.0),
    "relaxed": (0.0, 0.0, 1 / 7, 2 / 7, 4 / 7),
}
"""Shares of the queries that ask for const1 to const5. The paper only says that it combines the constraints by
decreasing accuracy: here the strict mix has the three highest, the relaxed one the three lowest, and each of them is
twice as frequent as the next milder or stricter one."""
