"""What is said of input that pydantic refuses."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from catalog.faults import describe


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    workers: int = Field(default=1, ge=0, le=9)
    share: float = Field(default=0.5, gt=0, lt=1)
    kind: Literal["a", "b"] = "a"
    name: str = Field(default="x", pattern="^[a-z]+$")


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pools: dict[str, Inner] = Field(default_factory=dict, min_length=0)
    listed: tuple[Inner, ...] | None = None
    needed: int = 0


@dataclass(config=ConfigDict(extra="forbid"))
class Plain:
    rows: int
    label: str = ""


def words(content: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(content)
    return describe(caught.value, Outer)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            {"pools": {"p": {"worker": 2}}},
            "pools.p.worker is unknown (did you mean 'workers'?); known here: workers, share",
        ),
        ({"listed": [{}, {"shared": 2}]}, "listed[1].shared is unknown (did you mean 'share'?); known here: workers,"),
        ({"zzz": 1}, "zzz is unknown; known here: pools, listed, needed"),
        ({"pools": {"p": {"workers": -1}}}, "pools.p.workers is -1; give a number of at least 0"),
        ({"pools": {"p": {"workers": 10}}}, "pools.p.workers is 10; give a number of at most 9"),
        ({"pools": {"p": {"share": 0}}}, "pools.p.share is 0; give a number above 0"),
        ({"pools": {"p": {"share": 1}}}, "pools.p.share is 1; give a number below 1"),
        ({"pools": {"p": {"share": float("inf")}}}, "pools.p.share is inf; give a finite number"),
        ({"pools": {"p": {"workers": "many"}}}, "pools.p.workers is 'many'; give a whole number"),
        ({"pools": {"p": {"workers": 1.5}}}, "pools.p.workers is 1.5; give a whole number"),
        ({"pools": {"p": {"share": [1, 2]}}}, "pools.p.share is a list of 2; give a number"),
        ({"pools": {"p": {"kind": "c"}}}, "pools.p.kind is 'c'; use one of 'a', 'b'"),
        ({"pools": {"p": {"name": "A"}}}, "pools.p.name is 'A'; give text that matches ^[a-z]+$"),
        ({"pools": {"p": 3}}, "pools.p is 3; give a mapping"),
        ({"pools": [1]}, "pools is a list of 1; give a mapping"),
        ([], "this is a list of 0; give a mapping"),
    ],
)
def test_a_fault_is_one_sentence(content: Any, said: str) -> None:
    assert words(content).startswith(said)


def test_there_is_a_sentence_for_each_fault_and_none_quotes_a_whole_section() -> None:
    said = words({"pools": {"p": {"workers": -1, "share": 2}}, "needed": {"a": 1, "b": "x" * 500}})
    assert said == (
        "pools.p.workers is -1; give a number of at least 0; pools.p.share is 2; give a number below 1; "
        "needed is a mapping of 2; give a whole number"
    )


def test_long_values_are_cut() -> None:
    assert len(words({"pools": {"p": {"kind": "c" * 500}}})) < 150


def test_fields_of_dataclasses_are_known_too() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Plain).validate_python({"row": 1})
    said = describe(caught.value, Plain)
    assert "row is unknown (did you mean 'rows'?); known here: rows, label" in said
    assert "rows is missing" in said
