"""What agreement with a reference says of accuracy, against recorded votes of real variants and by simulation."""

import numpy as np
import pytest

from catalog.catalogue import load_catalogue
from catalog.evaluation.interval import wilson
from catalog.votes import read_votes
from dispatch.shadow.agreement import Agreement, Baseline, live_accuracy
from dispatch.shadow.rules import Together

VOTES = read_votes(load_catalogue("builtin").votes["digits"])["dev"]
REFERENCE = "digits-ensemble"
SAID = {name: VOTES.predictions[:, column] for column, name in enumerate(VOTES.members)}
OTHERS = [name for name in VOTES.members if name != REFERENCE]
HALF = VOTES.rows // 2


def baseline(variant: str, rows: slice = slice(0, HALF), *, recorded: bool = True) -> Baseline:
    truth = VOTES.labels[rows]
    accuracy, of_reference = (float((SAID[name][rows] == truth).mean()) for name in (variant, REFERENCE))
    right, agreed = int((SAID[variant][rows] == truth).sum()), int((SAID[variant][rows] == SAID[REFERENCE][rows]).sum())
    together = Together(len(truth), right, agreed) if recorded else None
    least, least_reference = (wilson(share * len(truth), len(truth))[0] for share in (accuracy, of_reference))
    return Baseline(accuracy, least, REFERENCE, of_reference, least_reference, together)


def agreements(variant: str, rows: slice) -> list[bool]:
    return (SAID[variant][rows] == SAID[REFERENCE][rows]).tolist()


@pytest.mark.parametrize("variant", OTHERS)
@pytest.mark.parametrize("recorded", [True, False])
def test_live_accuracy_of_rows_without_labels_is_that_of_their_labels(variant: str, recorded: bool) -> None:
    rows = slice(HALF, None)
    agreed = agreements(variant, rows)
    truth = float((SAID[variant][rows] == VOTES.labels[rows]).mean())
    live = live_accuracy(baseline(variant, recorded=recorded), sum(agreed), len(agreed), drifted=False)
    assert live.low is not None
    assert live.high is not None
    assert live.low <= truth <= live.high
    if recorded:
        assert live.accuracy == pytest.approx(truth, abs=0.02)
        assert live.high - live.low < 0.08


def test_accuracy_and_agreement_differ_by_no_more_than_the_reference_errs_whatever_errors_are() -> None:
    generator = np.random.default_rng(2)
    for _ in range(200):
        truth = generator.integers(0, 5, 300)
        reference = np.where(generator.random(300) < 0.9, truth, generator.integers(0, 5, 300))
        kind = generator.random()
        variant = np.where(generator.random(300) < kind, reference, generator.integers(0, 5, 300))
        accuracy, agreement = (variant == truth).mean(), (variant == reference).mean()
        assert abs(accuracy - agreement) <= 1.0 - (reference == truth).mean() + 1e-12


def test_the_interval_covers_the_truth_nineteen_times_in_twenty() -> None:
    variant, covered, rounds = "digits-cnn-s", 0, 400
    generator = np.random.default_rng(4)
    known = baseline(variant, slice(0, None))
    agree = np.array(agreements(variant, slice(0, None)))
    for _ in range(rounds):
        live = live_accuracy(known, int(agree[generator.integers(0, len(agree), 60)].sum()), 60, drifted=False)
        assert live.low is not None
        assert live.high is not None
        covered += live.low <= known.accuracy <= live.high
    assert covered / rounds >= 0.93


def test_a_broken_variant_is_found_soon_and_its_accuracy_with_it() -> None:
    variant = "digits-cnn-m"
    agreement = Agreement(baseline(variant))
    whole = slice(0, None)
    for agreed in agreements(variant, whole)[:500]:
        assert not agreement.observe(agreed)
    broken = (SAID[variant] + 3) % 10
    found = None
    for count, agreed in enumerate((broken == SAID[REFERENCE]).tolist()[500:560], start=1):
        if agreement.observe(agreed):
            found = count
    assert found is not None
    assert found <= 12
    assert agreement.drifted
    live = agreement.live()
    truth = float((broken == VOTES.labels).mean())
    assert live.low is not None
    assert live.high is not None
    assert live.low <= truth <= live.high < 0.3


def test_a_variant_that_is_mended_is_well_again() -> None:
    agreement = Agreement(baseline("digits-cnn-m"))
    for _ in range(30):
        agreement.observe(False)
    assert agreement.drifted
    for agreed in agreements("digits-cnn-m", slice(0, 300)):
        agreement.observe(agreed)
    assert not agreement.drifted


def test_nothing_is_said_before_the_first_comparison() -> None:
    assert Agreement(baseline("digits-mlp")).live() == (None, None, None)


@pytest.mark.parametrize("variant", OTHERS)
def test_variants_as_they_were_measured_raise_no_alarm(variant: str) -> None:
    generator = np.random.default_rng(6)
    agreement = Agreement(baseline(variant))
    agree = np.array(agreements(variant, slice(HALF, None)))
    assert not any(agreement.observe(bool(agree[row])) for row in generator.integers(0, len(agree), 5000))
