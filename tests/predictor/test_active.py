"""Choices of what to measure next, against recomputing everything after each of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import slowdown_scene as scene
from predictor import active
from predictor.active import next_configurations
from predictor.configuration import Configuration
from predictor.examples import examples_of
from predictor.kinds import FOREST
from predictor.measurements import Measurements
from predictor.models.gaussian_process import GaussianProcess
from predictor.models.gaussian_process_fit import fit_gaussian_process
from predictor.models.trees import Trees, fit_trees


@pytest.fixture(scope="module")
def halves() -> tuple[Measurements, list[Configuration]]:
    """What is measured, and what could be."""
    everything = scene.measured(["small", "large"], triples=10, noise=0.03)
    order = np.random.default_rng(0).permutation(len(everything.repeats))
    configurations = [list(everything.repeats)[i] for i in order]
    return everything.only(configurations[:30]), configurations[30:]


@pytest.fixture(scope="module")
def process(halves: tuple[Measurements, list[Configuration]]) -> GaussianProcess:
    return fit_gaussian_process(examples_of(halves[0]), scene.table())


@pytest.fixture(scope="module")
def forest(halves: tuple[Measurements, list[Configuration]]) -> Trees:
    return fit_trees(examples_of(halves[0]), scene.table(), FOREST)


def unsure(variances: np.ndarray, candidates: Sequence[Configuration]) -> list[float]:
    """The mean variance of each configuration."""
    ends = np.cumsum([each.degree for each in candidates])
    return [float(variances[end - each.degree : end].mean()) for each, end in zip(candidates, ends, strict=True)]


def variances_after(
    process: GaussianProcess, candidates: Sequence[Configuration], measured: Sequence[Configuration]
) -> np.ndarray:
    """Of a process that has measured more: what these were does not matter, only that they were."""
    rows = sum(each.degree for each in measured)
    knows_more = replace(
        process,
        configurations=(*process.configurations, *measured),
        slowdown=np.concatenate([process.slowdown, np.full(rows, 1.2)]),
        repeats=np.concatenate([process.repeats, np.ones(rows)]),
    )

    def scale(of: GaussianProcess) -> np.ndarray:
        return of.slowdowns(candidates) * np.log(of.slowdown).std()

    covariance, _ = knows_more.posterior(candidates)
    variances: np.ndarray = np.diag(covariance) * (scale(process) / scale(knows_more)) ** 2
    return variances


def left_of_all(
    process: GaussianProcess, candidates: Sequence[Configuration], measured: Sequence[Configuration]
) -> float:
    """The variance of all candidates together once so many more are measured."""
    return float(variances_after(process, candidates, measured).sum())


def test_what_is_chosen_leaves_less_unknown_of_all_than_what_is_least_sure_by_itself(
    process: GaussianProcess, halves: tuple[Measurements, list[Configuration]]
) -> None:
    _, candidates = halves
    chosen = next_configurations(process, candidates, 8, seed=0)
    at_once = unsure(variances_after(process, candidates, []), candidates)
    least_sure = [candidates[i] for i in np.argsort(at_once)[::-1][:8]]
    rng = np.random.default_rng(0)
    at_random = [[candidates[i] for i in rng.permutation(len(candidates))[:8]] for _ in range(5)]
    left = left_of_all(process, candidates, chosen)
    assert left < left_of_all(process, candidates, least_sure)
    assert left < min(left_of_all(process, candidates, each) for each in at_random)


@pytest.mark.parametrize("machine", ["small", "large"])
def test_what_is_measured_is_to_be_predicted_too(
    process: GaussianProcess, halves: tuple[Measurements, list[Configuration]], machine: str
) -> None:
    of = {each: [one for one in halves[1] if one.machine == each] for each in ("small", "large")}
    candidates = [of["small"][0], of["large"][0]]
    (chosen,) = next_configurations(process, candidates, 1, 0, of[machine][1:])
    assert chosen.machine == machine, "it tells most of those that are on its own machine"


def test_what_was_chosen_already_tells_less_the_second_time(process: GaussianProcess) -> None:
    names = ("v1", "v4", "v6")
    same = [Configuration("large", order) for order in (names, names[::-1], names[1:] + names[:1])]
    others = [Configuration("small", three) for three in (("v2", "v3", "v5"), ("v2", "v3", "v6"), ("v2", "v5", "v6"))]
    chosen = next_configurations(process, [*same, *others], 2, seed=0)
    assert len(set(chosen) & set(same)) == 1


def test_a_forest_chooses_by_how_far_its_trees_disagree(
    forest: Trees, halves: tuple[Measurements, list[Configuration]]
) -> None:
    _, candidates = halves
    by_tree = np.exp([tree.predict(forest.features.rows(candidates)) for tree in forest.ensemble.estimators_])
    left = unsure(by_tree.var(axis=0), candidates)
    expected = [candidates[i] for i in sorted(range(len(candidates)), key=lambda i: -left[i])[:5]]
    assert next_configurations(forest, candidates, 5, seed=0) == expected


@pytest.mark.parametrize("name", ["process", "forest"])
def test_choices_are_different_candidates_and_no_more_than_there_are(
    name: str, request: pytest.FixtureRequest, halves: tuple[Measurements, list[Configuration]]
) -> None:
    measured, candidates = halves
    predictor = request.getfixturevalue(name)
    chosen = next_configurations(predictor, candidates, 10, seed=0)
    assert len(set(chosen)) == 10
    assert not set(chosen) & measured.repeats.keys()
    assert sorted(next_configurations(predictor, candidates[:4], 10, seed=0)) == sorted(candidates[:4])
    assert next_configurations(predictor, [], 10, seed=0) == []
    assert next_configurations(predictor, candidates, 0, seed=0) == []


@pytest.mark.parametrize("name", ["process", "forest"])
def test_of_too_many_candidates_some_are_drawn_but_as_many_are_chosen_as_wanted(
    name: str,
    request: pytest.FixtureRequest,
    halves: tuple[Measurements, list[Configuration]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, candidates = halves
    predictor = request.getfixturevalue(name)
    monkeypatch.setattr(active, "MOST_COMPARED", 6)
    first, again, other = (next_configurations(predictor, candidates, 6, seed) for seed in (0, 0, 1))
    assert first == again
    assert set(first) != set(other)
    assert len(set(next_configurations(predictor, candidates, 20, seed=0))) == 20


@dataclass
class Remembers:
    """A predictor whose covariance is drawn; knows of how many configurations it was asked for."""

    asked: list[list[Configuration]] = field(default_factory=list)

    def posterior(self, configurations: Sequence[Configuration]) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(list(configurations))
        rows = sum(each.degree for each in configurations)
        some = np.random.default_rng(rows).normal(size=(rows, 5)) * np.linspace(0.3, 1.0, rows)[:, None]
        return some @ some.T + 1e-3 * np.eye(rows), np.full(rows, 0.1)


def row_by_row(covariance: np.ndarray, noise: np.ndarray, candidates: Sequence[Configuration], count: int) -> list[int]:
    """Each the one that takes most from the variance of all, whose rows are taken into account one after the other."""
    left, chosen = covariance.copy(), list[int]()
    ends = np.cumsum([each.degree for each in candidates])
    rows = [list(range(end - each.degree, end)) for each, end in zip(candidates, ends, strict=True)]
    for _ in range(count):
        gain = (left**2).sum(axis=0) / (np.diag(left) + noise)
        best = max((i for i in range(len(rows)) if i not in chosen), key=lambda i: gain[rows[i]].sum())
        chosen.append(best)
        for row in rows[best]:
            told = left[row] / np.sqrt(left[row, row] + noise[row])
            left = left - np.outer(told, told)
    return chosen


def test_all_rows_of_a_choice_at_once_tell_as_much_as_one_after_the_other(
    halves: tuple[Measurements, list[Configuration]],
) -> None:
    measured, candidates = halves
    known = list(measured.repeats)
    process = Remembers()
    chosen = next_configurations(process, candidates, 12, 0, known)  # type: ignore[arg-type]
    (asked,) = process.asked
    assert asked[: len(candidates)] == candidates
    assert chosen == [candidates[i] for i in row_by_row(*process.posterior(asked), candidates, 12)]


def test_no_more_rows_are_compared_than_memory_and_time_bear(
    halves: tuple[Measurements, list[Configuration]], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, candidates = halves
    known = list(measured.repeats)
    monkeypatch.setattr(active, "MOST_ROWS", 40)
    process = Remembers()
    for seed, few in ((0, known), (1, known), (0, known[:2])):
        next_configurations(process, candidates, 3, seed, few)  # type: ignore[arg-type]
    first, other, with_few = process.asked
    for asked in process.asked:
        assert 37 < sum(each.degree for each in asked) <= 40
    of_candidates = sum(each.degree for each in first if each in set(candidates))
    assert 17 < of_candidates <= 20
    assert set(first) != set(other)
    assert set(known[:2]) < set(with_few)
    assert len(next_configurations(process, candidates, 25, 0, known)) == 25  # type: ignore[arg-type]
