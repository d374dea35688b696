"""Seconds of ill health and of intended changes are told apart."""

from benchmarks.adaptation.status_watch import UNKNOWN, Health, Sample


def test_a_deployment_that_runs_is_neither() -> None:
    assert Health.of([Sample(float(each), "RUNNING", ()) for each in range(9)], []) == Health(0.0, 0.0)


def test_deploying_is_intended_only_while_something_is_changed() -> None:
    samples = [Sample(1.0, "DEPLOYING", ()), Sample(2.0, "DEPLOYING", ()), Sample(7.0, "DEPLOYING", ())]
    assert Health.of(samples, [(0.5, 3.0)]) == Health(1.0, 2.0)


def test_an_unhealthy_deployment_counts_whatever_is_changed() -> None:
    samples = [
        Sample(1.0, "RUNNING", ("cpu",)),
        Sample(2.0, "DEPLOYING", ("cpu",)),
        Sample(3.0, UNKNOWN, ()),
        Sample(4.0, "DEPLOY_FAILED", ()),
    ]
    assert Health.of(samples, [(0.0, 9.0)]) == Health(4.0, 0.0)
