"""What is served under which name: endpoints, which answer, and the variants that answer for them."""

from collections.abc import Mapping
from typing import Any

import orjson

from catalog.errors import BadRequest, UnknownEndpoint
from deployments.controller.client import ControllerClient
from deployments.router.router import Router
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.answer import VERSION
from serve_app.oip.words import kind, shown

READY, UNAVAILABLE = "READY", "UNAVAILABLE"
"""States of a model in the index."""


class Repository:
    """The model repository extension. Endpoints are the config's; variants come and go by `load` and `unload`.

    All dictionaries are JSON objects, as clients get them.
    """

    def __init__(self, router: Router, endpoints: Mapping[str, EndpointInfo], controller: ControllerClient) -> None:
        self._router = router
        self._endpoints = endpoints
        self._controller = controller

    def ready(self, name: str) -> bool:
        """Whether an endpoint can answer, or a worker holds the variant.

        Raises `UnknownEndpoint`, which names nothing else that is served: callers without a key may ask this.
        """
        if name in self._endpoints:
            return self._router.ready(name)
        if name not in self._variants():
            raise UnknownEndpoint(f"no endpoint or variant {name!r}")
        return name in self._held()

    def index(self, only_ready: bool = False) -> list[dict[str, Any]]:
        """Every endpoint, and behind them every variant, which has no version, with its state and what it is."""
        entries = [
            self._entry(name, VERSION, self._router.ready(name), "", "no worker holds a variant for it yet")
            for name in self._endpoints
        ]
        held = self._held()
        entries += [
            self._entry(name, "", name in held, "a variant: ask an endpoint", "a variant that no worker holds now")
            for name in self._variants()
            if name not in self._endpoints
        ]
        return [entry for entry in entries if not only_ready or entry["state"] == READY]

    async def load(self, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Plan with a variant: the one that ``config`` describes in JSON as a catalogue file does, or one known before.

        Raises `BadRequest`, `UnknownEndpoint` or what else `ControllerClient.register` does.
        """
        if name in self._endpoints:
            raise self._no_variant(name)
        if files := [key for key in parameters if key.startswith("file:")]:
            raise BadRequest(f"parameters {shown(files[0])}: no files are taken; name the model's in the config")
        config = parameters.get("config")
        if config is not None:
            return await self._controller.register(_described(name, config))
        if name not in self._variants():
            raise self._unknown(name)
        return await self._controller.take_back(name)

    async def unload(self, name: str) -> dict[str, Any]:
        """Plan without a variant that was registered from now on; raises `BadRequest` or `UnknownEndpoint`."""
        if name in self._endpoints:
            raise self._no_variant(name)
        if name not in self._variants():
            raise self._unknown(name)
        return await self._controller.unregister(name)

    def _entry(self, name: str, version: str, ready: bool, when_ready: str, otherwise: str) -> dict[str, Any]:
        state, reason = (READY, when_ready) if ready else (UNAVAILABLE, otherwise)
        return {"name": name, "version": version, "state": state, "reason": reason}

    def _variants(self) -> list[str]:
        """All that the plan knows, withdrawn ones among them until they are forgotten."""
        routing = self._router.routing
        offered = {
            candidate.variant
            for endpoint in self._router.plan.endpoints.values()
            for candidates in endpoint.candidates.values()
            for candidate in candidates
        }
        return sorted(offered if routing is None else offered | {variant for _, variant in routing.profiled_s})

    def _held(self) -> frozenset[str]:
        routing = self._router.routing
        return frozenset() if routing is None else frozenset().union(*(w.serves for w in routing.workers.values()))

    def _unknown(self, name: str) -> UnknownEndpoint:
        return UnknownEndpoint(
            f"no endpoint or variant {name!r}; endpoints here: {', '.join(self._endpoints) or 'none'}; "
            "POST /v2/repository/index lists variants too"
        )

    def _no_variant(self, name: str) -> BadRequest:
        return BadRequest(f"{name!r} is an endpoint, which the config has; load and unload are for its variants")


def _described(name: str, config: Any) -> dict[str, Any]:
    """A variant as `ControllerClient.register` takes it, of a config in JSON."""
    try:
        described = orjson.loads(config) if isinstance(config, str) else config
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"parameters.config is not JSON: {error}") from error
    if not isinstance(described, dict):
        raise BadRequest(f"parameters.config must be an object as in a catalogue file, not {kind(described)}")
    if described.setdefault("name", name) != name:
        raise BadRequest(f"parameters.config describes {shown(described['name'])}, and {name!r} is to be loaded")
    return described
