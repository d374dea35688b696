"""What one controller learned, the next one knows."""

from typing import Any

import pytest
from controller_parts import DictStore, runs_s, settings, variant

from autoscaler.cluster.observation import Statistics
from autoscaler.demand.profile_drift import BIN_COUNT, bin_of
from autoscaler.placement.measured_interference import Corrections
from autoscaler.placement.standing import Standing
from catalog.errors import StateUnavailable
from deployments.controller.variants.variant_book import VariantBook
from deployments.messages.control_settings import InterferenceSettings
from deployments.state.load_history import HOUR_S, KEPT_HOURS, LoadHistory
from deployments.state.saved_state import ControllerState, next_epoch, prune, write_all

NOW_S = 500_000 * HOUR_S + 1.0
PREDICTOR = b"trained first"
STANDING = Standing("cpu", "n1", "m", "slow", (frozenset({"fast"}),), predicted=1.2, reckoned=1.2)


def knowledge(model: bytes | None = PREDICTOR) -> ControllerState:
    predictor = None if model is None else InterferenceSettings("a.safetensors", model).digest
    return ControllerState(VariantBook(settings()), predictor=predictor)


def twice_as_slow() -> list[int]:
    counts = [0] * BIN_COUNT
    counts[bin_of(2.0)] = 500
    return counts


def test_all_that_was_learned_is_there_again() -> None:
    before, after, store = knowledge(), knowledge(), DictStore()
    before.decisions.put_in_force(before.decisions.begin("a burst", NOW_S), NOW_S, NOW_S + 1)
    before.book.add(variant("new"), {"cpu": runs_s(0.001)}, 3)
    before.runs.on_counts(("cpu", "slow"), "w1", twice_as_slow(), NOW_S)
    before.transport.on_counts("cpu", twice_as_slow(), NOW_S)
    before.slowdowns.on_counts(STANDING, twice_as_slow(), 1.0, NOW_S)
    before.sizes["cpu"] = 5
    before.history.add(Statistics(NOW_S - 3.0, NOW_S - 2.5, {"digits": 7}, {}))
    before.history.add(Statistics(NOW_S, NOW_S + 0.5, {"digits": 9}, {}))
    before.start_ups.restore({"cpu": [12.0]})
    before.unloadable.bar_pool("cpu", "slow", "out of memory", NOW_S)
    write_all(store, before.documents(NOW_S))
    after.restore(store, NOW_S)
    assert after.documents(NOW_S) == before.documents(NOW_S)
    assert after.runs.factor(("cpu", "slow"), NOW_S) == before.runs.factor(("cpu", "slow"), NOW_S) > 1.5
    assert after.slowdowns.corrections(NOW_S) == before.slowdowns.corrections(NOW_S)
    assert after.slowdowns.corrections(NOW_S).factor("m", "slow", ("fast",)) > 1.5
    assert after.sizes == {"cpu": 5}
    assert after.start_ups.longest_s("cpu") == 12.0
    assert after.unloadable.in_pools(NOW_S) == frozenset()  # the next one finds out for itself


@pytest.mark.parametrize("model", [b"trained anew", None])
def test_corrections_of_another_predictor_are_not_taken_up(model: bytes | None) -> None:
    before, after, store = knowledge(), knowledge(model), DictStore()
    before.slowdowns.on_counts(STANDING, twice_as_slow(), 1.0, NOW_S)
    before.sizes["cpu"] = 5
    write_all(store, before.documents(NOW_S))
    after.restore(store, NOW_S)
    assert after.slowdowns.corrections(NOW_S) == Corrections()
    assert after.sizes == {"cpu": 5}
    write_all(store, after.documents(NOW_S))
    again = knowledge()
    again.restore(store, NOW_S)
    assert again.slowdowns.corrections(NOW_S) == Corrections(), "nor are they taken for those of the one in between"


def test_nor_are_those_of_before_that_do_not_say_which_predictor_they_are_of() -> None:
    before, store = knowledge(), DictStore()
    before.slowdowns.on_counts(STANDING, twice_as_slow(), 1.0, NOW_S)
    documents = before.documents(NOW_S)
    del documents["slowdowns"]["predictor"]
    write_all(store, documents)
    for after in (knowledge(), knowledge(None)):
        after.restore(store, NOW_S)
        assert after.slowdowns.corrections(NOW_S) == Corrections()


def test_a_predictor_of_another_name_is_the_same_one() -> None:
    store, before = DictStore(), knowledge()
    before.slowdowns.on_counts(STANDING, twice_as_slow(), 1.0, NOW_S)
    write_all(store, before.documents(NOW_S))
    after = ControllerState.for_settings(settings(interference=InterferenceSettings("b.safetensors", PREDICTOR)))
    after.restore(store, NOW_S)
    assert after.slowdowns.corrections(NOW_S) == before.slowdowns.corrections(NOW_S) != Corrections()


def test_the_hour_before_is_not_written_over_by_what_comes_late() -> None:
    before, after, store = knowledge(), knowledge(), DictStore()
    before.history.add(Statistics(NOW_S - 10.0, NOW_S - 9.5, {"digits": 7}, {}))
    write_all(store, before.documents(NOW_S - 9.0))
    after.restore(store, NOW_S)
    after.history.add(Statistics(NOW_S - 9.0, NOW_S - 8.5, {"digits": 9}, {}))
    write_all(store, after.documents(NOW_S))
    counts = store.read(LoadHistory.document(NOW_S - 10.0))["digits"]
    assert counts[-12:] == [None, None, None, 7, 9, None, None, None, None, None, None, None]


def test_an_empty_store_is_a_fresh_start() -> None:
    fresh = knowledge()
    fresh.restore(DictStore(), NOW_S)
    assert fresh.documents(NOW_S) == knowledge().documents(NOW_S)


def test_load_of_more_than_four_weeks_ago_is_let_go_of() -> None:
    store = DictStore()
    old, older = NOW_S - KEPT_HOURS * HOUR_S, NOW_S - (KEPT_HOURS + 1) * HOUR_S
    for at_s in (old, older):
        store.write(LoadHistory.document(at_s), {})
    prune(store, NOW_S)
    assert store.names("load/") == [LoadHistory.document(old)]


def test_what_cannot_be_read_is_left_out_and_the_rest_is_taken_up(caplog: pytest.LogCaptureFixture) -> None:
    store = DictStore()
    store.write("decisions", [{"version": 7, "asked_at": "then", "reason": "r", "state": "in force", "new": 1}])
    store.write("drift/runs", {"keys": "nonsense"})
    store.write(LoadHistory.document(NOW_S), 3)
    store.write("sizes", {"cpu": 3})
    taken = knowledge()
    taken.restore(store, NOW_S)
    assert taken.sizes == {"cpu": 3}
    assert taken.decisions.in_force is not None
    assert taken.decisions.in_force.version == 7, "a field that is not known yet is no obstacle"
    assert sum("cannot be read" in record.message for record in caplog.records) == 2


def test_every_controller_has_a_higher_epoch_than_those_before() -> None:
    store = DictStore()
    assert [next_epoch(store) for _ in range(3)] == [1, 2, 3]


def test_a_store_that_cannot_be_read_just_now_is_not_taken_for_an_empty_one() -> None:
    class Away(DictStore):
        def read(self, name: str) -> Any:
            if name == "variants":
                raise StateUnavailable("throttled")
            return super().read(name)

    with pytest.raises(StateUnavailable):
        knowledge().restore(Away(), NOW_S)


@pytest.mark.parametrize("damaged", ["abc", {}, [1]])
def test_a_number_that_cannot_be_read_is_begun_anew(damaged: Any) -> None:
    store = DictStore()
    store.write("epoch", damaged)
    assert next_epoch(store) == 1
    assert next_epoch(store) == 2
