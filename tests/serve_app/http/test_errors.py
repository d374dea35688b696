"""Errors as clients see them."""

import orjson
import pytest

from catalog.errors import BadRequest, Infeasible, MethodNotAllowed, NoWorker, Saturated
from serve_app.http.errors import error_body, error_headers


def infeasible(retry_after_s: float | None) -> Infeasible:
    error = Infeasible("too much")
    error.retry_after_s = retry_after_s
    return error


def test_a_refusal_has_its_code_in_header_and_body() -> None:
    assert error_headers(Saturated("full")) == [(b"x-accord-reason", b"rejected-saturated")]
    assert orjson.loads(error_body(Saturated("full"))) == {
        "error": "full",
        "reason": "Saturated",
        "retryable": True,
        "code": "rejected-saturated",
    }


def test_other_errors_have_neither() -> None:
    assert error_headers(BadRequest("no")) == []
    assert orjson.loads(error_body(BadRequest("no"))) == {"error": "no", "reason": "BadRequest", "retryable": False}


@pytest.mark.parametrize(("after_s", "header"), [(None, None), (0.4, None), (1.2, b"2"), (4.0, b"4"), (300.0, b"30")])
def test_retry_after_is_in_whole_seconds_and_the_body_has_it_exactly(
    after_s: float | None, header: bytes | None
) -> None:
    error = infeasible(after_s)
    assert dict(error_headers(error)).get(b"retry-after") == header
    assert orjson.loads(error_body(error)).get("retry_after_s") == after_s


def test_who_finds_no_worker_is_told_when_one_may_be_there() -> None:
    assert dict(error_headers(NoWorker("nobody")))[b"retry-after"] == b"2"
    assert orjson.loads(error_body(NoWorker("nobody")))["retry_after_s"] == 2.0


def test_who_asks_with_another_method_is_told_which_is_taken() -> None:
    assert error_headers(MethodNotAllowed("inference takes POST, not GET")) == [(b"allow", b"POST")]
