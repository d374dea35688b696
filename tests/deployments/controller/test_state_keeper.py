"""What could not be saved is saved later, whole."""

from controller_parts import DictStore, settings

from autoscaler.cluster.observation import Statistics
from deployments.controller.state_keeper import StateKeeper
from deployments.controller.variants.variant_book import VariantBook
from deployments.state.load_history import HOUR_S, LoadHistory
from deployments.state.saved_state import ControllerState

BEGAN_S = 500_000.0 * HOUR_S


async def test_load_of_hours_that_could_not_be_written_is_written_when_it_can_be() -> None:
    store, known, now_s = DictStore(), ControllerState(VariantBook(settings())), BEGAN_S
    keeper = StateKeeper(store, known, lambda: now_s)
    store.broken = True
    for hour in range(5):
        now_s = BEGAN_S + hour * HOUR_S
        known.history.add(Statistics(now_s + 1.0, now_s + 1.5, {"digits": 7 + hour}, {}))
        await keeper.save()
        assert not keeper.view()["saved"]
        assert keeper.view()["since"].startswith("2027-01-15T08:00:00"), "since the first time"
    assert store.values == {}
    store.broken = False
    await keeper.save()
    assert keeper.view() == {"saved": True, "since": None, "why_not": None}
    for hour in range(5):
        assert store.read(LoadHistory.document(BEGAN_S + hour * HOUR_S))["digits"][1] == 7 + hour
