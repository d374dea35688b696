"""The command line, and what it is refused for."""

import pytest

from benchmarks.promise.cases.conditions import CONDITIONS
from benchmarks.promise.options import QUICK_SHARES, SHARES, parse
from benchmarks.promise.systems import POLICIES


def test_without_options_everything_is_measured() -> None:
    options = parse(None, [])
    assert (options.policies, options.conditions, options.shares) == (POLICIES, tuple(CONDITIONS), SHARES)
    assert options.parts == {"cases", "starts", "table"}
    assert options.highest_qps == {}


def test_a_quick_run_is_smaller_and_can_be_chosen_from() -> None:
    options = parse(None, ["--quick", "--policies", "greedy"])
    assert (options.policies, options.shares, options.parts) == (("greedy",), QUICK_SHARES, {"cases"})


@pytest.mark.parametrize(
    ("flags", "parts"),
    [(["--starts"], {"starts"}), (["--table"], {"table"}), (["--no-starts"], {"cases", "table"})],
)
def test_parts_can_be_chosen(flags: list[str], parts: set[str]) -> None:
    assert parse(None, flags).parts == parts


@pytest.mark.parametrize(
    "flags",
    [
        ["--policies", "unknown"],
        ["--conditions", "as_is,rain"],
        ["--loads", "0,1"],
        ["--loads", "most"],
        ["--seconds", "5"],
        ["--rounds", "0"],
        ["--highest-qps", "-1"],
        ["--starts", "--table"],
    ],
)
def test_what_makes_no_sense_is_refused(flags: list[str]) -> None:
    with pytest.raises(SystemExit):
        parse(None, flags)
