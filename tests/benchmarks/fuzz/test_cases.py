"""Bad inputs: the same for the same seed, of every kind, and those that have to be answered are HTTP."""

from itertools import islice
from typing import Any

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.cases import SHARES, Cases

GOOD = {"inputs": [{"name": "image", "shape": [1, 2], "datatype": "FP32", "data": [0, 1]}]}
OPERATOR: dict[str, Any] = {"/accord/plan/simulate": {"load_qps": {"digits": 5.0}}}


def made(seed: int, count: int = 3000) -> list[Case]:
    return list(islice(Cases(seed, GOOD, OPERATOR), count))


def test_the_same_seed_gives_the_same_inputs_and_another_others() -> None:
    assert made(1, 500) == made(1, 500)
    assert made(1, 500) != made(2, 500)


def test_every_kind_is_there_in_about_its_share() -> None:
    cases = made(0)
    kinds = {"broken HTTP" if kind == "broken" else kind: share for kind, share in SHARES.items()}
    for kind, share in kinds.items():
        found = sum(case.kind == kind for case in cases) / len(cases)
        assert abs(found - share / 100) < 0.03, kind


def test_what_is_not_broken_is_one_complete_request() -> None:
    for case in made(3):
        if case.broken:
            continue
        head, end, body = case.content.partition(b"\r\n\r\n")
        assert end
        start, *lines = head.split(b"\r\n")
        assert len(start.split(b" ")) == 3, start
        headers = dict(line.split(b": ", 1) for line in lines)
        if b"Content-Length" in headers:
            assert int(headers[b"Content-Length"]) == len(body)
        else:
            assert body.endswith(b"0\r\n\r\n")
