"""Where one variant alone is better than all members together, what is chosen is measured by that one."""

from pathlib import Path

from catalog import zoo
from catalog.votes import read_votes
from dispatch.ensemble import selector as selecting
from dispatch.ensemble.member import Constraint, Member
from dispatch.ensemble.selector import MemberSelector

DIGITS_VOTES = Path(zoo.__file__).parent / "digits_votes.csv"


def test_a_variant_that_all_members_together_do_not_reach_is_the_measure() -> None:
    """Of the built-in digits: one variant is an average of networks, and all votes together are worse than its own."""
    runs_ms = {"mlp": 0.05, "cnn-xs": 0.08, "cnn-s": 0.3, "cnn-m": 0.4, "cnn-l": 0.5, "cnn-xl": 0.9, "ensemble": 2.2}
    members = [
        Member(f"digits-{name}", (run_ms + 6.0) / 1e3, 0.9, packing_factor=1e3 / run_ms)
        for name, run_ms in runs_ms.items()
    ]
    selector = MemberSelector(members, read_votes(DIGITS_VOTES)["dev"])
    chosen = selector.select(Constraint(0.15))
    assert chosen.accuracy >= selector.accuracy(["digits-ensemble"]) - selecting.LOST_AT_MOST
    assert selector.accuracy([each.name for each in members]) < chosen.accuracy - selecting.LOST_AT_MOST
