"""A Gaussian process as arrays and JSON values, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from predictor.configuration import Configuration
from predictor.models.gaussian_process import GaussianProcess, KernelParameters
from predictor.models.kernel import TERMS

Arrays = dict[str, NDArray[Any]]


def to_state(process: GaussianProcess) -> tuple[Arrays, dict[str, Any]]:
    """All that `from_state` needs."""
    own = process.parameters
    arrays = {
        "points": process.points,
        "encodings": process.encodings,
        "slowdown": process.slowdown,
        "repeats": process.repeats,
        "suffer_scales": own.suffer_scales,
        "harm_scales": own.harm_scales,
        "machine_similarity": own.machine_similarity,
        "weights": own.weights,
    }
    values = {
        "variants": list(process.variants),
        "machines": list(process.machines),
        "configurations": [[each.machine, list(each.variants)] for each in process.configurations],
        "suffer_identity": own.suffer_identity,
        "harm_identity": own.harm_identity,
        "noise": own.noise,
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, values


def from_state(arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> GaussianProcess:
    """The process of `to_state`. Raises ValueError, KeyError or TypeError for what cannot be one."""
    variants, machines = tuple(map(str, values["variants"])), tuple(map(str, values["machines"]))
    configurations = tuple(Configuration(str(m), tuple(map(str, names))) for m, names in values["configurations"])
    examples = sum(each.degree for each in configurations)
    metrics = arrays["points"].shape[1]
    shapes = {
        "points": (len(variants), metrics),
        "encodings": (len(machines), arrays["encodings"].shape[1]),
        "slowdown": (examples,),
        "repeats": (examples,),
        "suffer_scales": (metrics,),
        "harm_scales": (metrics,),
        "machine_similarity": (len(machines), len(machines)),
        "weights": (TERMS,),
    }
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} has values that are no finite numbers")
    if not configurations or min(arrays["slowdown"].min(), arrays["repeats"].min()) <= 0:
        raise ValueError("it has no slowdowns that it learned from, or some that are not above 0")
    return GaussianProcess(
        variants=variants,
        machines=machines,
        points=arrays["points"],
        encodings=arrays["encodings"],
        parameters=KernelParameters(
            suffer_scales=arrays["suffer_scales"],
            harm_scales=arrays["harm_scales"],
            suffer_identity=float(values["suffer_identity"]),
            harm_identity=float(values["harm_identity"]),
            machine_similarity=arrays["machine_similarity"],
            weights=arrays["weights"],
            noise=float(values["noise"]),
        ),
        configurations=configurations,
        slowdown=arrays["slowdown"],
        repeats=arrays["repeats"],
    )
