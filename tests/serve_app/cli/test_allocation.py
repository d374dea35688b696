"""``accord profile --cores``: the least threads that bear a load, from profiles under each number of them."""

from collections.abc import Iterable
from typing import Any

import pytest

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.profiles.profile import BatchLatency, LatencyProfile
from catalog.variant import Variant
from serve_app.cli import allocation
from serve_app.cli.allocation import allocations, numbers_of_cores, record_of, table_of

BUILTIN = load_catalogue("builtin")


@pytest.fixture(autouse=True)
def halved_by_twice_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of measuring: the n-th variant takes n times 10 ms for one row, twice that for two."""

    def known(variants: Iterable[Variant], root: str, device: str, threads: int, **_: Any) -> dict[str, LatencyProfile]:
        return {
            variant.name: LatencyProfile(
                device,
                {size: BatchLatency(9, *[10.0 * number * (1 + size) / 2 / threads] * 6) for size in (1, 2, 4, 8)},
            )
            for number, variant in enumerate(variants, start=1)
        }

    monkeypatch.setattr(allocation, "measured_profiles", known)


def found(cores: list[int], threshold_qps: float, largest_batch: int) -> dict[str, Any]:
    made = allocations(BUILTIN, BUILTIN.of_task("digits"), "cpu", cores, threshold_qps, largest_batch, lambda *_: None)
    assert all("queries/s" in str(table_of(task, own).columns[2].header) for task, own in made.items())
    return record_of(made)


def test_slower_variants_get_more_cores_until_they_bear_the_load() -> None:
    (task,) = found([1, 2, 4, 8], 40.0, 1).values()
    assert [each["cores"] for each in task["variants"].values()] == [1, 1, 2, 2, 2, 4, 4]
    assert all(each["capacity_qps"] >= 40.0 for each in task["variants"].values())


def test_too_few_cores_end_in_words() -> None:
    with pytest.raises(ConfigError, match=r"with 1 cores it serves .* \(1b\)"):
        found([1], 100.0, 1)


def test_numbers_of_cores_are_checked() -> None:
    assert numbers_of_cores("4,1, 2") == [1, 2, 4]
    with pytest.raises(ConfigError, match="--cores '0,2' are no numbers of cores"):
        numbers_of_cores("0,2")
    with pytest.raises(ConfigError, match="--cores 'two' are no numbers"):
        numbers_of_cores("two")


def test_the_largest_batch_is_the_one_that_was_named() -> None:
    (task,) = found([1, 2, 4, 8], 1.0, 6).values()
    first = next(iter(task["variants"].values()))
    assert first["largest_s"] == pytest.approx(3.5 * first["first_s"]), "six rows take 3.5 times as long as one"
