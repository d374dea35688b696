"""Where HAProxy speaks TLS."""

import pytest

from serve_app.proxy.tls import Tls


def test_nothing_set_is_no_tls() -> None:
    assert Tls.of({}) is None


@pytest.mark.parametrize(
    "environment",
    [
        {"ACCORD_TLS_CERT": "/c.pem"},
        {"ACCORD_TLS_BIND": "127.0.0.1:8443"},
        {"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": "127.0.0.1"},
    ],
)
def test_half_a_setting_is_an_error_that_says_what_to_set(environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="set both"):
        Tls.of(environment)


@pytest.mark.parametrize(("address", "host"), [("*:8443", "0.0.0.0"), (":8443", "0.0.0.0"), ("10.0.0.1:1", "10.0.0.1")])
def test_the_host_is_the_one_that_others_reach(address: str, host: str) -> None:
    tls = Tls.of({"ACCORD_TLS_CERT": "/c.pem", "ACCORD_TLS_BIND": address})
    assert tls is not None
    assert tls.host == host
