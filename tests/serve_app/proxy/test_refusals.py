"""What the proxy itself answers."""

import json

import pytest

from serve_app.proxy.refusals import ERRORS, LOADING, SATURATED, UNREACHABLE, Refusal


@pytest.mark.parametrize("refusal", [LOADING, SATURATED, UNREACHABLE])
def test_load_and_failures_are_no_500_and_say_when_to_try_again(refusal: Refusal) -> None:
    assert refusal.status in (429, 503)
    assert json.loads(refusal.body).keys() == {"error", "reason", "retryable", "code"}
    assert json.loads(refusal.body)["retryable"] is True
    assert f"hdr x-accord-reason {refusal.code} hdr Retry-After 1" in refusal.rule


@pytest.mark.parametrize("status", ERRORS)
def test_a_file_is_a_whole_answer(status: int) -> None:
    head, _, body = ERRORS[status].file.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {ERRORS[status].status} ")
    assert f"Content-Length: {len(body)}" in head
    assert json.loads(body)["reason"] == ERRORS[status].reason


def test_no_quote_ends_a_rule_early() -> None:
    assert "'" not in Refusal(503, "X", "x", "a router's fault").body
