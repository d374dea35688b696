import pytest

from catalog.errors import ConfigError
from serve_app.loadgen.endpoint import Endpoint


def test_addresses_follow_the_protocol() -> None:
    endpoint = Endpoint("http://127.0.0.1:8000/", "digits")
    assert endpoint.metadata_url == "http://127.0.0.1:8000/v2/models/digits"
    assert endpoint.infer_url == "http://127.0.0.1:8000/v2/models/digits/infer"


def test_a_name_with_odd_characters_stays_one_path_segment() -> None:
    assert Endpoint("http://host", "a/b c").metadata_url == "http://host/v2/models/a%2Fb%20c"


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://host", "http://", "", "http://[::1:8000", "http://host:eighty"]
)
def test_an_address_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="write it as http://127"):
        _ = Endpoint(url, "digits").infer_url
