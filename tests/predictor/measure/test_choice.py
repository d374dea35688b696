import json
from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from catalog.errors import ConfigError
from predictor.measure.choice import draw, read_choice

MANY = [f"v{number:02}" for number in range(26)]


def test_drawn_configurations_differ_and_are_balanced_over_degrees_and_variants() -> None:
    drawn = draw(MANY, 3, 150, 0, seed=1)
    assert len(set(drawn)) == 150
    assert Counter(map(len, drawn)) == {2: 75, 3: 75}
    used = Counter(name for each in drawn for name in each)
    assert set(used) == set(MANY)
    assert max(used.values()) <= 1.3 * min(used.values())
    assert all(each == tuple(sorted(each)) for each in drawn)


def test_a_variant_may_be_beside_itself() -> None:
    assert any(len(set(each)) < len(each) for each in draw(MANY[:5], 3, 30, 0, seed=1))


def test_the_same_seed_draws_the_same() -> None:
    assert draw(MANY, 4, 40, 5, seed=3) == draw(MANY, 4, 40, 5, seed=3)
    assert draw(MANY, 4, 40, 5, seed=3) != draw(MANY, 4, 40, 5, seed=4)


def test_repeats_come_last_and_each_is_of_another_configuration() -> None:
    drawn = draw(MANY, 3, 30, 10, seed=0)
    assert len(set(drawn[:30])) == 30
    assert len(set(drawn[30:])) == 10
    assert set(drawn[30:]) < set(drawn[:30])


def test_all_there_are_can_be_drawn_and_no_more() -> None:
    names = ["a", "b", "c"]
    every = {each for degree in (2, 3) for each in combinations_with_replacement(names, degree)}
    assert set(draw(names, 3, len(every), 0, seed=0)) == every
    with pytest.raises(ConfigError, match="3 variants have 16 configurations of degree 2 to 3"):
        draw(names, 3, 17, 0, seed=0)
    with pytest.raises(ConfigError, match="repeated once at most; lower --repeats"):
        draw(names, 3, 2, 3, seed=0)


def test_a_choice_is_read_from_json_and_from_csv(tmp_path: Path) -> None:
    wanted = [("a", "b"), ("a", "a", "c"), ("a", "b")]
    listed = tmp_path / "chosen.json"
    listed.write_text(json.dumps([["b", "a"], ["c", "a", "a"], ["a", "b"]]))
    rows = tmp_path / "chosen.csv"
    rows.write_text("configuration,variant\n1,b\n1,a\n2,c\n2,a\n2,a\n3,a\n3,b\n")
    assert read_choice(listed, "abc") == wanted
    assert read_choice(rows, "abc") == wanted


def test_machine_types_may_number_their_configurations_alike(tmp_path: Path) -> None:
    rows = tmp_path / "chosen.csv"
    rows.write_text("configuration,machine,variant\n1,cpu,a\n1,cpu,b\n1,gpu,b\n1,gpu,c\n1,cpu,b\n")
    assert read_choice(rows, "abc") == [("a", "b", "b"), ("b", "c")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.json", "[", "cannot read configurations"),
        ("c.json", '{"a": 1}', "is no list of lists"),
        ("c.json", '["ab"]', "is no list of lists"),
        ("c.json", '[["a", 1]]', "is no list of lists"),
        ("c.json", "[[]]", "is no list of lists"),
        ("c.json", '[["a", "z"]]', "no variant 'z'; the catalogues have a, b, c"),
        ("c.csv", "configuration,name\n1,a\n", "cannot read configurations"),
        ("c.csv", "configuration,variant\n", "names no configuration"),
    ],
)
def test_files_that_name_no_configurations_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_choice(file, "abc")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read configurations"):
        read_choice(tmp_path / "gone.json", "abc")
