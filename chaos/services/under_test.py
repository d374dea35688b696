"""A service under test, as actions and probes see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from serve_app.loadgen.dataset import Dataset

Processes = Callable[[], list[psutil.Process]]


@dataclass(frozen=True)
class UnderTest:
    """A service that runs.

    ``folder`` is its own, with copies of whatever experiments spoil. ``processes`` gives all that belong to it at the
    moment; ``details`` is what only some services have.
    """

    name: str
    url: str
    endpoint: str
    slo_ms: float
    dataset: Dataset
    folder: Path
    processes: Processes
    most_qps: float
    """No load is higher, whatever the machine carries."""
    right: NDArray[np.bool_]
    """By row of the data set whether the best answer that the service has is right: that of its most accurate variant,
    or the vote of all members."""
    details: Mapping[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    """The names that labels of answers count, where they are numbers."""

    @property
    def infer_path(self) -> str:
        """Where queries go."""
        return f"/v2/models/{self.endpoint}/infer"
