"""Arguments of benchmarks that are wrong, and files that a picture could not be drawn into."""

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.adaptation import __main__ as adaptation
from benchmarks.arguments import at_least_0, picture_file, positive, seed, whole
from benchmarks.cocktail import __main__ as cocktail
from benchmarks.live_ensemble import __main__ as live_ensemble
from benchmarks.live_pipeline import __main__ as live_pipeline
from benchmarks.live_value import __main__ as live_value
from benchmarks.placement import __main__ as placement
from benchmarks.ramsis import __main__ as ramsis
from benchmarks.shadow import __main__ as shadow
from benchmarks.simulator import __main__ as simulator


@pytest.mark.parametrize(
    ("read", "text", "wanted"),
    [
        (positive, "0.5", 0.5),
        (at_least_0, "0", 0.0),
        (whole, "3", 3),
        (seed, "0", 0),
    ],
)
def test_numbers_are_read(read: Callable[[str], Any], text: str, wanted: float) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("read", "texts"),
    [
        (positive, ("0", "-1", "nan", "inf", "x", "")),
        (at_least_0, ("-0.1", "nan", "inf", "x")),
        (whole, ("0", "-1", "1.5", "inf", "x")),
        (seed, ("-1", "0.5", "inf", "x")),
    ],
)
def test_what_is_no_such_number_is_refused_with_what_it_is(read: Callable[[str], Any], texts: tuple[str, ...]) -> None:
    for text in texts:
        with pytest.raises(ArgumentTypeError, match=f"^'{text}' is no "):
            read(text)


def test_the_folder_of_a_picture_is_made_before_anything_is_computed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "picture.png"
    assert picture_file(str(path)) == path
    assert path.parent.is_dir()
    assert not path.exists()
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentTypeError, match=r"cannot make a folder for '.*/file/picture\.png'"):
        picture_file(str(tmp_path / "file" / "picture.png"))
    with pytest.raises(ArgumentTypeError, match="is a folder; name a file in it"):
        picture_file(str(tmp_path))
    with pytest.raises(ArgumentTypeError, match=r"ends in \.csv, which is no kind of picture; end it in \.png"):
        picture_file(str(tmp_path / "picture.csv"))


@pytest.mark.parametrize(
    ("main", "given", "words"),
    [
        (cocktail.main, ("--correlation", "1"), "argument --correlation: '1' is not below 1"),
        (cocktail.main, ("--lost-per-hour", "-1"), "argument --lost-per-hour: '-1' is no number of at least 0"),
        (cocktail.main, ("--lost-per-hour", "2"), "argument --lost-per-hour: '2' is above 1, which is all of them"),
        (cocktail.main, ("--seed", "-1"), "argument --seed: '-1' is no number of at least 0"),
        (cocktail.main, ("--seeds", "x"), "argument --seeds: 'x' is no number above 0"),
        (ramsis.main, ("--profiles", "p", "--workers", "2,x"), "argument --workers: 'x' is no number above 0"),
        (ramsis.main, ("--profiles", "p", "--slo-ms", "0"), "argument --slo-ms: '0' is no number above 0"),
        (simulator.main, ("--workers", "0"), "argument --workers: '0' is no number above 0"),
        (simulator.main, ("--repeats", "0"), "argument --repeats: '0' is no number above 0"),
        (adaptation.main, ("--rounds", "0"), "argument --rounds: '0' is no number above 0"),
        (adaptation.main, ("--most-qps", "0"), "argument --most-qps: '0' is no number above 0"),
        (adaptation.main, ("--most-qps", "-5"), "argument --most-qps: '-5' is no number above 0"),
        (adaptation.main, ("--most-qps", "nan"), "argument --most-qps: 'nan' is no number above 0"),
        (live_ensemble.main, ("--rounds", "0"), "argument --rounds: '0' is no number above 0"),
        (live_value.main, ("--limits", "2,0"), "argument --limits: '2,0' are no numbers of queries; give some above 0"),
        (live_pipeline.main, ("--rounds", "0"), "argument --rounds: '0' is no number above 0"),
        (shadow.main, ("--no-live", "--seeds", "0"), "argument --seeds: '0' is no number above 0"),
        (placement.main, ("--machines", "0"), "argument --machines: '0' is no number above 0"),
    ],
)
def test_arguments_are_refused_in_words(
    main: Callable[[], None],
    given: tuple[str, ...],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", *given])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert words in capsys.readouterr().err
