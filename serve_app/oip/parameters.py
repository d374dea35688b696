"""What a request asks for beside its tensors: time, priority, accuracy, outputs and their form."""

from collections.abc import Mapping
from typing import Any

from catalog.errors import BadRequest
from dispatch.query import NORMAL_PRIORITY
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.words import kind, names, shown

SHORTEST_S, LONGEST_S = 1e-6, 86_400.0
"""What a client's latency objective may be."""

NOT_SERVED = ("classification", "shared_memory_region")
"""Parameters of tensors that ask for them in another form or at another place, of extensions that are not served."""


def parameters_of(owner: Mapping[str, Any]) -> dict[str, Any]:
    """``parameters`` of a request, a tensor or an output; raises `BadRequest`."""
    parameters = owner.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        raise BadRequest(f"'parameters' must be an object, not {kind(parameters)}")
    return parameters or {}


def accuracy_of(parameters: dict[str, Any], endpoint: EndpointInfo) -> float | None:
    """The accuracy that the client asks for, which only an ensemble takes."""
    value = parameters.get("accuracy")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise BadRequest(f"parameters.accuracy must be a number above 0 and up to 1, not {shown(value)}")
    if not endpoint.ensemble:
        raise BadRequest(
            f"parameters.accuracy is {value}, and endpoint {endpoint.name!r} has no ensemble to reach it with; "
            "leave it out: the most accurate variant that is in time answers"
        )
    return float(value)


def priority_of(parameters: dict[str, Any]) -> int:
    """As Triton has it: 1 is the highest, larger numbers come later, and 0 is for the normal one."""
    value = parameters.get("priority")
    if value is None:
        return NORMAL_PRIORITY
    if type(value) is not int or value < 0:
        raise BadRequest(f"parameters.priority must be a whole number of at least 0, not {shown(value)}")
    return value or NORMAL_PRIORITY


def slo_s_of(parameters: dict[str, Any]) -> float | None:
    """The client's objective in seconds: the smaller of ``slo_ms`` and ``timeout`` (microseconds, and 0 is for none, as
    Triton has it)."""
    asked = []
    for key, per_s in (("slo_ms", 1e3), ("timeout", 1e6)):
        value = parameters.get(key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (key == "timeout" and number and value == 0):
            continue
        if not number or not SHORTEST_S <= value / per_s <= LONGEST_S:
            raise BadRequest(f"parameters.{key} must be a number, from a microsecond to a day, not {shown(value)}")
        asked.append(value / per_s)
    return min(asked, default=None)


def wanted_of(
    request: Mapping[str, Any], parameters: dict[str, Any], endpoint: EndpointInfo
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Names of the outputs to send, all or those that the client lists; and which of them go as raw bytes."""
    by_default = _flag(parameters, "binary_data_output", False)
    outputs = request.get("outputs")
    if not outputs:
        listed = tuple(endpoint.output_by_name)
        return listed, frozenset(listed) if by_default else frozenset()
    if not isinstance(outputs, list):
        raise BadRequest(f"'outputs' must be a list of objects with a name, not {kind(outputs)}")
    binary: dict[str, bool] = {}
    for output in outputs:
        name = output.get("name") if isinstance(output, dict) else output
        if not isinstance(name, str) or name not in endpoint.output_by_name:
            raise BadRequest(
                f"output {shown(name)} is unknown; endpoint {endpoint.name!r} gives {names(endpoint.outputs)}"
            )
        of_it = parameters_of(output) if isinstance(output, dict) else {}
        refuse_not_served(f"output {name!r}", of_it)
        binary[name] = _flag(of_it, "binary_data", by_default)
    return tuple(binary), frozenset(name for name, raw in binary.items() if raw)


def refuse_not_served(tensor: str, parameters: Mapping[str, Any]) -> None:
    """Raise `BadRequest` for a tensor that a client would look for in another form or place than it has here.

    A ``classification`` of 0 asks for nothing.
    """
    for key in NOT_SERVED:
        if parameters.get(key):
            raise BadRequest(
                f"{tensor}: parameters.{key} is of an extension that is not served, GET /v2 lists those that are; "
                "leave it out"
            )


def _flag(parameters: dict[str, Any], key: str, default: bool) -> bool:
    value = parameters.get(key, default)
    if not isinstance(value, bool):
        raise BadRequest(f"parameters.{key} must be true or false, not {shown(value)}")
    return value
