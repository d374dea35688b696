"""Who is let in over gRPC."""

from typing import Any, cast

import pytest
from ray.serve.grpc_util import RayServegRPCContext
from security_scene import new_key, secret_file

from catalog.errors import Forbidden, Unauthenticated
from serve_app.config.security import SecurityConfig
from serve_app.grpc.access import Access
from serve_app.http.security.caller import caller_of
from serve_app.http.security.credentials import Credentials
from serve_app.http.security.gate import INFER, Gate
from serve_app.http.security.roles import CHANGING, OPEN

HERE = "ipv4:127.0.0.1:4711"


class Call:
    """What `Access` looks at of a call."""

    def __init__(self, peer: str = HERE, **metadata: Any) -> None:
        self._peer = peer
        self._metadata = [(key.replace("_", "-"), value) for key, value in metadata.items()]

    def peer(self) -> str:
        return self._peer

    def invocation_metadata(self) -> list[tuple[str, Any]]:
        return self._metadata


def admitted(access: Access, call: Call, needed: Any = INFER) -> dict[str, Any]:
    return access.admit(cast(RayServegRPCContext, call), needed)


@pytest.fixture
def gate(tmp_path: Any) -> tuple[Gate, str]:
    key = new_key()
    keys = {"shop": {"file": secret_file(tmp_path, key), "roles": ["infer"]}}
    return Gate(Credentials(SecurityConfig.model_validate({"api_keys": keys}))), key


@pytest.mark.parametrize("peer", [HERE, "ipv6:[::1]:5", "ipv6:%5B::1%5D:5", "ipv6:[::ffff:127.0.0.1]:5", "unix:/tmp/s"])
def test_without_keys_this_machine_may_call(peer: str) -> None:
    assert admitted(Access(None, everywhere=False), Call(peer, x_request_id="a"))["headers"] == [
        (b"x-request-id", b"a")
    ]


@pytest.mark.parametrize("peer", ["ipv4:192.0.2.7:5", "ipv6:[2001:db8::1]:5", "", "ipv4:", "dns:localhost"])
def test_and_no_other_one_unless_everybody_may(peer: str) -> None:
    for needed in (INFER, OPEN):
        with pytest.raises(Forbidden, match="from this machine alone"):
            admitted(Access(None, everywhere=False), Call(peer), needed)
    assert admitted(Access(None, everywhere=True), Call(peer))


def test_keys_are_asked_for_as_over_http(gate: tuple[Gate, str]) -> None:
    access = Access(gate[0], everywhere=False)
    far = "ipv4:192.0.2.7:5"
    for metadata in ({"authorization": f"Bearer {gate[1]}"}, {"x_api_key": gate[1]}, {"x_api_key": gate[1].encode()}):
        assert caller_of(admitted(access, Call(far, **metadata))).name == "shop"
        with pytest.raises(Forbidden, match="this needs admin"):
            admitted(access, Call(far, **metadata), CHANGING)
    with pytest.raises(Unauthenticated, match="no key was sent"):
        admitted(access, Call(far))
    with pytest.raises(Unauthenticated, match="not known"):
        admitted(access, Call(HERE, x_api_key="x" * 30))
    assert admitted(access, Call(far), OPEN)
