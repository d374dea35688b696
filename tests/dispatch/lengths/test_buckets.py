"""Buckets of lengths: what they cover, how much they pad, and that there are no more of them than needed."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.lengths.buckets import LengthBuckets, padding_share
from dispatch.lengths.observed import FIRST_LOOK, LAST_LOOK, ObservedLengths

LONGEST = 300
SHARES = st.one_of(st.just(0.0), st.floats(0.0, 0.95))
LENGTHS = st.lists(st.integers(1, LONGEST), max_size=40)


def fewest(seen: list[int], share: float) -> int:
    """How many groups of a sorted list are needed where the first of each is padded by at most ``share``."""

    @cache
    def from_(index: int) -> int:
        if index == len(seen):
            return 0
        ends = (end for end in range(index, len(seen)) if seen[end] - seen[index] <= share * seen[end] + 1e-9)
        return 1 + min(from_(end + 1) for end in ends)

    return from_(0)


@given(LENGTHS, SHARES, st.lists(st.integers(1, LONGEST), min_size=1, max_size=20))
def test_lengths_of_one_bucket_are_padded_by_no_more_than_the_share(
    observed: list[int], share: float, queries: list[int]
) -> None:
    buckets = LengthBuckets.covering(observed, LONGEST, share)
    by_bucket: dict[int, list[int]] = {}
    for length in queries:
        by_bucket.setdefault(buckets.number(length), []).append(length)
    for own in by_bucket.values():
        assert padding_share(own) <= share + 1e-9
        assert all(max(own) - length <= share * max(own) + 1e-9 for length in own)
        assert max(own) <= buckets.edge(own[0])


@given(LENGTHS, SHARES)
def test_buckets_have_every_length_once_and_the_observed_ones_in_as_few_as_can_be(
    observed: list[int], share: float
) -> None:
    buckets = LengthBuckets.covering(observed, LONGEST, share)
    assert list(buckets.edges) == sorted(set(buckets.edges))
    assert buckets.edges[-1] == LONGEST
    assert len({buckets.number(length) for length in observed}) == fewest(sorted(set(observed)), share)


def test_an_edge_is_a_length_that_came_and_what_never_came_has_buckets_of_its_own() -> None:
    buckets = LengthBuckets.covering([40, 42, 100], 100, 0.25)
    assert {buckets.edge(length) for length in (40, 41, 42)} == {42}
    assert buckets.edge(100) == 100
    assert buckets.edge(43) not in (42, 100)
    assert buckets.edge(120) == 120, "longer than declared, as a pipeline may make it"


@pytest.mark.parametrize(("longest", "share"), [(0, 0.2), (10, 1.0), (10, -0.1)])
def test_what_is_no_share_or_no_length_is_refused(longest: int, share: float) -> None:
    with pytest.raises(ValueError, match="padding_share"):
        LengthBuckets.covering([], longest, share)


def test_lengths_are_looked_at_ever_less_often_and_old_ones_are_forgotten() -> None:
    observed = ObservedLengths()
    looks = [number for number in range(1, 4 * LAST_LOOK) if observed.add(7)]
    assert looks[:3] == [FIRST_LOOK, 3 * FIRST_LOOK, 7 * FIRST_LOOK]
    assert {after - before for before, after in zip(looks[-3:], looks[-2:], strict=False)} == {LAST_LOOK}
    observed.add(9)
    while observed.counts[9]:
        observed.add(7)
    assert set(observed.counts) <= {7, 9}
