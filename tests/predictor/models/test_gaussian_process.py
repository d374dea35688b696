"""Predictions of the Gaussian process against the textbook formula, and what it says of what it does not know."""

from dataclasses import replace

import numpy as np
import pytest

import slowdown_scene as scene
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.measurements import Measurements
from predictor.models import gaussian_process, gaussian_process_fit
from predictor.models.gaussian_process import JITTER, GaussianProcess
from predictor.models.gaussian_process_fit import fit_gaussian_process


@pytest.fixture(scope="module")
def process() -> GaussianProcess:
    return fit_gaussian_process(examples_of(scene.measured(triples=12, repeats=5, noise=0.01)), scene.table())


def naive(process: GaussianProcess, asked: list[Configuration]) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the logarithms by loops over examples, each covariance from its definition."""
    own = process.parameters

    def alike(a: str, b: str, scales: np.ndarray, identity: float) -> float:
        x, y = (process.points[process.variants.index(each)] / scales for each in (a, b))
        return float((1 - identity) * np.exp(-0.5 * ((x - y) ** 2).sum()) + identity * (a == b))

    def covariance(one: tuple[Configuration, int], other: tuple[Configuration, int]) -> float:
        (c, i), (d, j) = one, other
        km = own.machine_similarity[process.machines.index(c.machine), process.machines.index(d.machine)]
        kv = alike(c.variants[i], d.variants[j], own.suffer_scales, own.suffer_identity)
        s = sum(alike(u, w, own.harm_scales, own.harm_identity) for u in c.beside(i) for w in d.beside(j))
        w = own.weights
        return float(km * (w[0] + w[1] * kv + s * (w[2] + w[3] * kv) + s * s * (w[4] + w[5] * kv)))

    rows = [(c, i) for c in process.configurations for i in range(c.degree)]
    new = [(c, i) for c in asked for i in range(c.degree)]
    within = np.array([[covariance(a, b) for b in rows] for a in rows])
    within += np.diag(own.noise / process.repeats + JITTER)
    across = np.array([[covariance(a, b) for b in rows] for a in new])
    logs = np.log(process.slowdown)
    solved = np.linalg.solve(within, (logs - logs.mean()) / logs.std())
    explained = np.einsum("ij,ij->i", across, np.linalg.solve(within, across.T).T)
    prior = np.array([covariance(a, a) for a in new])
    return across @ solved * logs.std() + logs.mean(), (prior - explained + own.noise) * logs.std() ** 2


def test_predictions_and_deviations_are_those_of_the_formula(process: GaussianProcess) -> None:
    asked = [
        Configuration("small", ("v1", "v4", "v6")),
        Configuration("middle", ("v3", "v3")),
        Configuration("large", ("v0", "v2", "v5")),
    ]
    logs, variances = naive(process, asked)
    said = process.predict(asked)
    np.testing.assert_allclose(
        np.log(said.slowdown), np.maximum(logs, np.log(min(process.slowdown.min(), 1))), rtol=1e-6
    )
    np.testing.assert_allclose(said.deviation, said.slowdown * np.sqrt(variances), rtol=1e-5)
    np.testing.assert_allclose(process.slowdowns(asked), said.slowdown, rtol=1e-12)


def test_many_candidates_beside_one_set_are_predicted_as_each_alone(process: GaussianProcess) -> None:
    asked = [Configuration("small", (name, "v2", "v5")) for name in scene.NAMES] * 3
    one_by_one = np.concatenate([process.slowdowns([each]) for each in asked])
    np.testing.assert_allclose(process.slowdowns(asked), one_by_one, rtol=1e-9)


def test_the_order_of_variants_does_not_matter(process: GaussianProcess) -> None:
    first = process.slowdowns([Configuration("small", ("v1", "v4", "v6"))])
    second = process.slowdowns([Configuration("small", ("v6", "v1", "v4"))])
    np.testing.assert_allclose(first, second[[1, 2, 0]], rtol=1e-9)


def test_a_variant_alone_is_not_slowed_down(process: GaussianProcess) -> None:
    said = process.predict([Configuration("small", ("v6",)), Configuration("nowhere", ("nobody",))])
    assert said.slowdown.tolist() == [1.0, 1.0]
    assert said.deviation.tolist() == [0.0, 0.0]


def test_it_learns_the_law(process: GaussianProcess) -> None:
    unseen = [Configuration("middle", ("v0", "v3", "v6")), Configuration("small", ("v2", "v4", "v5"))]
    truth = np.concatenate([scene.slowdown(each.machine, each.variants) for each in unseen])
    assert np.abs(process.slowdowns(unseen) - truth).max() < 0.1


def test_an_unknown_machine_type_is_between_those_known_and_less_sure(process: GaussianProcess) -> None:
    variants = ("v3", "v5")
    known = [process.predict([Configuration(machine, variants)]) for machine in scene.MACHINES]
    unknown = process.predict([Configuration("huge", variants)])
    lowest, highest = (
        np.min([each.slowdown for each in known], axis=0),
        np.max([each.slowdown for each in known], axis=0),
    )
    assert (lowest <= unknown.slowdown).all()
    assert (unknown.slowdown <= highest).all()
    assert (unknown.deviation > np.max([each.deviation for each in known], axis=0)).all()


def test_a_variant_without_metrics_is_the_mean_variant_and_less_sure(process: GaussianProcess) -> None:
    said = process.predict([Configuration("small", ("nobody", "v4"))])
    of_known = [process.predict([Configuration("small", (name, "v4"))]) for name in scene.NAMES]
    assert min(each.slowdown[0] for each in of_known) <= said.slowdown[0] <= max(each.slowdown[0] for each in of_known)
    assert said.deviation[0] > max(each.deviation[0] for each in of_known)


def test_more_than_was_ever_measured_together_is_bounded(process: GaussianProcess) -> None:
    said = process.slowdowns([Configuration("small", ("v6",) * 9)])
    assert said.max() <= process.slowdown.max() * 1.5 ** (9 - 3) * (1 + 1e-9)


def test_repeats_count_more(process: GaussianProcess) -> None:
    asked = [process.configurations[0]]
    surer = replace(process, repeats=process.repeats * 100)
    noisier = replace(process, repeats=process.repeats / 100)
    assert (surer.predict(asked).deviation < noisier.predict(asked).deviation).all()


def test_errors_of_alike_configurations_go_together(process: GaussianProcess) -> None:
    asked = [Configuration("large", ("v1", "v2", "v6")), Configuration("large", ("v1", "v2", "v5"))]
    covariance, noise = process.posterior(asked)
    said = process.predict(asked)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance) + noise), said.deviation, rtol=1e-6)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_the_same_seed_gives_the_same_process() -> None:
    examples = examples_of(scene.measured(machines=["small"], triples=5))
    one, other = (fit_gaussian_process(examples, scene.table(), seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.parameters.weights, other.parameters.weights)


def test_machine_types_that_behave_alike_are_encoded_close_to_each_other() -> None:
    measured = scene.measured(triples=10)
    process = fit_gaussian_process(examples_of(measured), scene.table())
    place = dict(zip(process.machines, process.encodings, strict=True))
    near = np.linalg.norm(place["small"] - place["middle"])
    far = np.linalg.norm(place["small"] - place["large"])
    assert near < far


def test_without_any_metrics_it_goes_by_who_was_measured() -> None:
    from predictor.variant_table import VariantTable

    measured = scene.measured(triples=20)
    process = fit_gaussian_process(examples_of(measured), VariantTable())
    asked = [Configuration("small", ("v1", "v6"))]
    assert np.abs(process.slowdowns(asked) - np.array(scene.slowdown(*asked[0]))).max() < 0.1


def test_where_not_all_is_learned_from_a_machine_type_with_little_keeps_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_process_fit, "MOST_EXAMPLES", 40)
    monkeypatch.setattr(gaussian_process_fit, "STEPS", 2)
    few = scene.measured(["large"]).runs[:4]
    process = fit_gaussian_process(examples_of(Measurements((*scene.measured(["small"]).runs, *few))), scene.table())
    assert sum(each.machine == "large" for each in process.configurations) == 4
    assert 36 < len(process.slowdown) <= 40
    assert process.machines == ("large", "small")


def test_deviations_of_many_are_those_of_some_at_a_time(
    process: GaussianProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [Configuration("small", (name, "v2", "v5")) for name in scene.NAMES] + [Configuration("small", ("v1",))]
    at_once = process.predict(asked).deviation
    monkeypatch.setattr(gaussian_process, "ROWS_AT_ONCE", 4)
    np.testing.assert_allclose(process.predict(asked).deviation, at_once, rtol=1e-9)
