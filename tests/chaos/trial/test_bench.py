"""What a service carries is found by trying, upwards and downwards."""

from chaos.trial.bench import client_timeout_s


def test_the_client_waits_for_longer_than_the_objective() -> None:
    assert client_timeout_s(150.0) == 10.0
    assert client_timeout_s(12_000.0) == 24.0
