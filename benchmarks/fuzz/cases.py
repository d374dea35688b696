"""Bad inputs without end, the same for the same seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

from benchmarks.fuzz.bodies import WORDS, changed, wrong_body
from benchmarks.fuzz.broken import broken
from benchmarks.fuzz.case import Case, chunked, request

INFER = "/v2/models/digits/infer"
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW", "get", "M-SEARCH")
PATHS = (
    *("/", "/v2", "/v2/", "//", "/v2/models", "/v2/models/", "/v2/models//infer", "/v2/models/digits/infer/", "/-/x"),
    *(
        "/v2/models/digits/versions/2/infer",
        "/v2/models/digits/versions/../infer",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e",
    ),
    *("/v2/models/%00/infer", "/v2/models/%ff%fe/infer", "/v2/models/%0d%0aX:%20y/infer", "/v2/models/digits%2finfer"),
    *(
        "/V2/MODELS/DIGITS/INFER",
        "/accord/status?x=1",
        "/accord/plans/",
        "/accord/plan/simulate",
        "/docs/../accord/plan",
    ),
    *("/openapi.json?x=" + "y" * 2000, "/v2/models/" + "d" * 6000 + "/infer", "/?" + "a=b&" * 1000, "/%", "/%zz", "/*"),
)
HEADERS = (
    *(("Content-Type", kind) for kind in ("application/json", "text/plain", "multipart/form-data", "\u00e9", "")),
    *(("Inference-Header-Content-Length", value) for value in ("10", "-1", "x")),
    *(("Content-Encoding", value) for value in ("gzip", "br", "x")),
    *(("X-Request-Timeout-Seconds", value) for value in ("0", "-1", "nan", "1e999", "x")),
    *(("X-Accord-Received", value) for value in ("-", "0-x", "9" * 400, "1" * 4000 + "-", "\u00ff")),
    *(("X-Request-Id", value) for value in ("x" * 3000, "{}")),
    *(("Authorization", value) for value in ("Bearer", "Bearer x", "Basic eDp5", "x" * 5000)),
    *(("Cookie", "a=b; " * 500), ("Range", "bytes=0-1,2-1"), ("Accept-Encoding", "*;q=x"), ("Forwarded", "for=::")),
    *(("Serve_Multiplexed_Model_Id", value) for value in ("x", "../../x", "y" * 2000)),
)
SHARES = {"inference": 70, "headers": 8, "chunks": 6, "control": 8, "paths": 5, "broken": 3}
"""Of all inputs, in percent."""


class Cases:
    """``good`` is a good inference request, ``operator`` a good request by path of what changes the service."""

    def __init__(self, seed: int, good: Any, operator: dict[str, Any]) -> None:
        self._rng = random.Random(seed)
        self._good = good
        self._operator = operator

    def __iter__(self) -> Iterator[Case]:
        return self

    def __next__(self) -> Case:
        rng = self._rng
        (kind,) = rng.choices(list(SHARES), list(SHARES.values()))
        if kind == "inference":
            return request(kind, "POST", INFER, wrong_body(rng, self._request()))
        if kind == "headers":
            headers = tuple(rng.sample(HEADERS, rng.randint(1, 4)))
            return request(kind, rng.choice(("POST", "POST", "GET")), INFER, wrong_body(rng, self._request()), headers)
        if kind == "chunks":
            return chunked(kind, INFER, wrong_body(rng, self._request()), rng.choice((1, 7, 100, 10_000)))
        if kind == "control":
            path = rng.choice(list(self._operator))
            return request(kind, "POST", path, wrong_body(rng, changed(rng, self._operator[path])))
        if kind == "paths":
            name = rng.choice(WORDS).encode("utf-8", "surrogatepass").hex("%", 1)
            named = f"/v2/models/%{name}/{rng.choice(('infer', 'ready', 'feedback', ''))}" if name else "/v2/models/"
            return request(kind, rng.choice(METHODS), rng.choice((*PATHS, named)), wrong_body(rng, self._request()))
        return broken(rng, INFER, json.dumps(self._good).encode())

    def _request(self) -> Any:
        """A good request with what beside its tensors may go wrong as well."""
        rest = {"id": "fuzz", "parameters": {"slo_ms": 500, "timeout": 500_000}, "outputs": [{"name": "label"}]}
        return self._good | {name: rest[name] for name in rest if self._rng.random() < 0.5}
