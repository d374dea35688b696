"""The model configuration extension: an endpoint in the words of Triton's configuration."""

from typing import Any

from catalog.tensor import TensorSpec
from serve_app.http.endpoint_info import EndpointInfo

_TYPES = {"BYTES": "TYPE_STRING"}


def model_config(info: EndpointInfo, slo_s: float) -> dict[str, Any]:
    """The answer of ``GET /v2/models/{endpoint}/config``; dimensions are those of one item, without the batch.

    Batches are made whatever it says, so there are no preferred sizes and no delay.
    """
    return {
        "name": info.name,
        "platform": "accord",
        "backend": "accord",
        "version_policy": {"latest": {"num_versions": 1}},
        "max_batch_size": info.max_rows,
        "input": [_tensor(spec) for spec in info.inputs],
        "output": [_tensor(spec) for spec in info.outputs],
        "dynamic_batching": {},
        "parameters": {
            "task": {"string_value": info.task},
            "slo_ms": {"string_value": f"{slo_s * 1e3:g}"},
        },
    }


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    data_type = _TYPES.get(spec.datatype, f"TYPE_{spec.datatype}")
    return {"name": spec.name, "data_type": data_type, "dims": list(spec.item_shape)}
