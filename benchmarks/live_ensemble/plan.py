"""Who votes in the live ensemble, and what its members say of every text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from catalog.catalogue import SENTIMENT, load_catalogue
from catalog.labelled.labelled_data import read_data
from catalog.votes import read_votes
from deployments.worker.voting import recorded
from dispatch.ensemble.voting import vote
from dispatch.ensemble.weights import ClassWeights
from serve_app.loadgen.dataset import Dataset, encode_request

ENDPOINT = SENTIMENT
PORT = 8000
CPUS_EACH = 0.2
"""Members share the cores: what is shown is what becomes of queries, not how many there may be."""


@dataclass(frozen=True)
class Ensemble:
    """The members, the most accurate first, and by row of the test texts what their vote says offline."""

    members: tuple[str, ...]
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    offline: NDArray[np.int64]

    @property
    def offline_right(self) -> NDArray[np.bool_]:
        """Whether the offline vote of all members is right, row by row."""
        return np.asarray(self.offline == self.labels)

    def dataset(self) -> Dataset:
        """A query for each text, with its label; ids are the texts' numbers."""
        requests = [
            {
                "id": str(row),
                "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": [text]}],
                "outputs": [{"name": "label"}],
            }
            for row, text in enumerate(self.texts)
        ]
        return Dataset(tuple(encode_request(request, None)[0] for request in requests), tuple(self.labels.tolist()))

    def config(self, slo_ms: float) -> dict[str, Any]:
        """A pool of one worker for each member, and one endpoint in which all of them vote."""
        pools = {member: {"workers": 1, "num_cpus": CPUS_EACH, "variants": [member]} for member in self.members}
        endpoint = {
            "task": SENTIMENT,
            "slo_ms": slo_ms,
            "variants": list(self.members),
            "ensemble": {"choose": "everyone"},
        }
        args = {
            "catalogue": SENTIMENT,
            "endpoints": {ENDPOINT: endpoint},
            "pools": pools,
            "router_num_cpus": 0.3,
            "controller": {"num_cpus": 0.1},
        }
        application = {"name": "accord", "route_prefix": "/", "import_path": "serve_app.main:build", "args": args}
        return {"http_options": {"host": "127.0.0.1", "port": PORT}, "applications": [application]}


def plan(test: Path, members: int) -> Ensemble:
    """The most accurate variants by the votes that come with them; runs each on the texts. Raises `ConfigError`."""
    catalogue = load_catalogue(SENTIMENT)
    dev = read_votes(catalogue.votes[SENTIMENT])["dev"]
    accuracies = dev.accuracies
    chosen = tuple(sorted(accuracies, key=lambda name: -accuracies[name])[:members])
    variants = [catalogue.variant(name) for name in chosen]
    data = read_data(str(test), variants[0])
    labels = data.classes(variants[0], len(variants[0].labels))
    records = recorded(variants, catalogue.root, data.inputs, 1, lambda *_: None)
    said = np.column_stack([records[name].votes for name in chosen])
    weights = ClassWeights.learned(dev.of(chosen))
    offline = vote(said, weights.matrix, weights.against).classes
    (texts,) = data.inputs.values()
    return Ensemble(chosen, tuple(texts.tolist()), labels, offline)
