"""The task's data: split before any corruption, the same on every call."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from catalog.zoo import digits


def test_training_and_held_out_originals_are_disjoint_and_together_all() -> None:
    training, held_out = digits.split()
    assert not set(training) & set(held_out)
    assert len(training) + len(held_out) == len(load_digits().target)


def test_no_held_out_image_equals_a_training_original() -> None:
    images = load_digits().images
    training, held_out = ({images[index].tobytes() for index in part} for part in digits.split())
    assert not training & held_out


def test_three_tenths_of_the_originals_are_held_out() -> None:
    training, held_out = digits.split()
    assert len(held_out) / (len(training) + len(held_out)) == pytest.approx(0.3, abs=0.001)


def test_held_out_images_are_whole_grey_levels_on_a_canvas_of_twelve_pixels() -> None:
    images, labels = digits.held_out()
    assert images.shape == (2156, 12, 12)
    assert images.dtype == np.float32
    assert labels.shape == (2156,)
    assert labels.dtype == np.int64
    assert np.array_equal(images, np.rint(images))
    assert (images.min(), images.max()) == (0, 16)


def test_every_digit_is_held_out_about_equally_often() -> None:
    counts = np.bincount(digits.held_out()[1], minlength=10)
    assert counts.min() > 0.7 * counts.mean()


def test_held_out_images_are_the_same_on_every_call() -> None:
    first, again = digits.held_out(), digits.held_out()
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])


def test_training_batches_depend_on_the_seed_only() -> None:
    first, again, other = (next(digits.training(seed, 32)) for seed in (1, 1, 2))
    assert first[0].shape == (32, 12, 12)
    assert np.array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])


def test_training_draws_no_held_out_original(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = load_digits().images, load_digits().target
    marked = np.zeros_like(images)
    marked[digits.split()[1]] = 16.0
    monkeypatch.setattr(digits, "originals", lambda: (marked, labels))
    batches = digits.training(1, 100)
    assert max(float(next(batches)[0].mean()) for _ in range(12)) < 2.0  # noise alone; a white image means 16


def test_an_upright_original_without_noise_keeps_its_centre(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHIFT_PX", "_ROTATION_RAD", "_LOG_SCALE", "_NOISE_STD"):
        monkeypatch.setattr(digits, name, 0.0)
    images = load_digits().images[:5]
    canvas = digits.corrupt(images, np.random.default_rng(0))
    assert np.array_equal(canvas[:, 2:10, 2:10], images)
    assert canvas.sum() == images.sum()
