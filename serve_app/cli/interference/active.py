"""Measures in rounds, each chosen by what was learned before, until predictions are good enough."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from math import comb

from catalog.errors import ConfigError
from predictor.active import MOST_COMPARED, next_configurations
from predictor.configuration import Configuration
from predictor.examples import Examples, examples_of
from predictor.kinds import GAUSSIAN_PROCESS
from predictor.measure.campaign import Campaign, CampaignReport, OnProgress
from predictor.measure.choice import Variants, draw
from predictor.measurements import Measurements
from predictor.predictor import SlowdownPredictor
from predictor.training import LEAST_CONFIGURATIONS, cross_validated_error, fit
from predictor.variant_table import VariantTable, read_variants

PER_ROUND = 5
FIRST_PER_VARIANT = 2

MOST_LISTED = 50_000
"""Sets of variants, from which candidates are taken; of more, `MOST_COMPARED` are drawn."""


@dataclass(frozen=True)
class Stop:
    """When to stop: the cross-validated mean absolute error of slowdown to reach, or the most that it may take."""

    error: float
    configurations: int
    budget_s: float


def measure_until(
    campaign: Campaign,
    machine: str,
    degree: int,
    stop: Stop,
    on_progress: OnProgress,
    on_error: Callable[[int, float], None],
) -> tuple[CampaignReport, float]:
    """Measure until the error is reached, or the configurations or the budget are spent; gives the error at the end.

    The first round is drawn, ``FIRST_PER_VARIANT`` for each variant; each later one has the `PER_ROUND` configurations
    that tell the predictor most of all. ``on_error`` hears of the configurations and the error after each round.
    Raises `ConfigError` where too few configurations are allowed to learn from, or the budget ends before there are
    enough.
    """
    if stop.configurations < LEAST_CONFIGURATIONS:
        raise ConfigError(
            f"--configurations {stop.configurations} are too few to learn from; give at least {LEAST_CONFIGURATIONS}"
        )
    began_s, seed, records = time.monotonic(), campaign.seed, campaign.records
    names = sorted(campaign.variants)
    first = min(max(FIRST_PER_VARIANT * len(names), LEAST_CONFIGURATIONS), stop.configurations)
    of_first_s = stop.budget_s * first / stop.configurations  # a round takes all the time that it is given
    begin = draw(names, degree, first, 0, seed)
    report = campaign.run(begin, of_first_s, on_progress)
    left_s = stop.budget_s - (time.monotonic() - began_s)
    if report.left and left_s > 0 and len((records.own() or Measurements(())).repeats) < LEAST_CONFIGURATIONS:
        report = _together(report, campaign.run(begin, left_s, on_progress))  # starting the variants took most of that
    rounds = 1  # a round gets the time of so many, where those before it were too short to measure anything
    while True:
        own = records.own() or Measurements(())
        if len(own.repeats) < LEAST_CONFIGURATIONS:
            raise ConfigError(
                f"{len(own.repeats)} configurations within {stop.budget_s:g} s are too few to learn from; give more "
                "with --budget-s"
            )
        table = read_variants(records.variants)
        error = cross_validated_error(own, partial(_fitted, table=table, seed=seed), seed)
        known = len(own.repeats)
        on_error(known, error)
        left_s = stop.budget_s - (time.monotonic() - began_s)
        if error <= stop.error or known >= stop.configurations or left_s <= 0:
            return replace(report, seconds=time.monotonic() - began_s), error
        candidates = [
            each
            for chosen in _possible(names, degree, seed + known)
            if (each := Configuration(machine, chosen)) not in own.repeats
        ]
        if not candidates:
            return replace(report, seconds=time.monotonic() - began_s), error
        count = min(PER_ROUND, stop.configurations - known)
        predictor = _fitted(examples_of(own), table, seed)
        wanted = next_configurations(predictor, candidates, count, seed + known, tuple(own.repeats))
        while True:
            of_round_s = min(left_s, rounds * left_s * count / (stop.configurations - known))
            latest = campaign.run([each.variants for each in wanted], of_round_s, on_progress)
            report = _together(report, latest)
            left_s = stop.budget_s - (time.monotonic() - began_s)
            if latest.measured or not latest.left or left_s <= 0:
                break
            rounds *= 2


def _together(before: CampaignReport, latest: CampaignReport) -> CampaignReport:
    """Of rounds one after the other; the later one keeps what the former measured."""
    return replace(
        latest,
        measured=before.measured + latest.measured,
        kept=before.kept,
        disturbed=before.disturbed + latest.disturbed,
    )


def _possible(names: Sequence[str], degree: int, seed: int) -> list[Variants]:
    """All sets of 2 to ``degree`` variants; where they are too many to be compared, some of them."""
    sizes = range(2, degree + 1)
    if sum(comb(len(names) + size - 1, size) for size in sizes) > MOST_LISTED:
        return draw(names, degree, MOST_COMPARED, 0, seed)
    return [chosen for size in sizes for chosen in combinations_with_replacement(names, size)]


def _fitted(examples: Examples, table: VariantTable, seed: int) -> SlowdownPredictor:
    return fit(examples, table, GAUSSIAN_PROCESS, seed=seed)
