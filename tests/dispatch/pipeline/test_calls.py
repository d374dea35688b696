"""Functions between stages get what is wired, cannot change it, and are held to what they declare."""

import asyncio
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from catalog.adapter import Adapter, Condition, condition, specs_of
from catalog.errors import AccordError, AdapterFailed, BadRequest, NothingToAnswer
from catalog.lengths import LengthRule, Lengths
from catalog.tensor import TensorSpec
from dispatch.pipeline.assemble import graph_of
from dispatch.pipeline.calls import PipelineAnswer, StageParts, StageRuns
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire
from dispatch.query import Query
from pipeline_scene import cut, either, odd, stage

TWO = specs_of({"x": "FP32[-1,2]", "k": "INT64[-1]"})
GOOD = {"x": np.ones((3, 2), np.float32), "k": np.arange(3)}
VALUES = {"query": {"q": np.arange(3.0)}, "a": {"y": np.array([51])}}


def made(function: Callable[..., Any]) -> Adapter:
    return Adapter(function=function, inputs=specs_of({"q": "FP64[-1]"}), outputs=TWO)


def said(given: Any) -> StageParts:
    """A stage whose adapter gives this."""
    return StageParts(StageWiring("read", TWO, (), {"q": Wire("query", "q")}, made(lambda q: given), rows_per_job=2))


def failure(parts: StageParts) -> str:
    with pytest.raises(AdapterFailed) as caught:
        parts(VALUES)
    assert caught.value.status == 500
    words = str(caught.value)
    assert words.startswith("stage 'read': adapter ")
    assert "test_calls:" in words.partition(" gave ")[0]
    assert "\n" not in words
    return words


def test_what_an_adapter_gives_is_cut_into_jobs() -> None:
    parts = said(GOOD)(VALUES)
    assert [part.rows for part in parts] == [2, 1]
    assert [part.inputs["k"].tolist() for part in parts] == [[0, 1], [2]]


def test_inputs_of_jobs_are_contiguous_and_of_the_declared_type() -> None:
    parts = said({"x": np.ones((2, 6), np.float32).T[:, ::1], "k": np.arange(12)[::2]})(VALUES)
    assert [part.rows for part in parts] == [2, 2, 2]
    for part in parts:
        assert all(array.flags.c_contiguous for array in part.inputs.values())
        assert [part.inputs[spec.name].dtype for spec in TWO] == [spec.dtype for spec in TWO]


def test_no_rows_are_no_jobs() -> None:
    assert list(said({"x": np.ones((0, 2), np.float32), "k": np.arange(0)})(VALUES)) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2], "gave a list; expected a mapping with x FP32[-1,2], k INT64[-1]"),
        (None, "gave None of type NoneType; expected a mapping"),
        ({"x": GOOD["x"]}, "gave x; expected x FP32[-1,2], k INT64[-1]"),
        ({**GOOD, "more": GOOD["k"]}, "gave x, k, more; expected x FP32[-1,2], k INT64[-1]"),
        ({**GOOD, "k": [0, 1, 2]}, "gave a list as 'k'; expected an array, INT64[-1]"),
        ({**GOOD, "x": np.ones((3, 2))}, "gave 'x' as float64[3,2]; expected float32[-1, 2]"),
        ({**GOOD, "x": np.ones((3, 3), np.float32)}, "gave 'x' as float32[3,3]; expected float32[-1, 2]"),
        ({**GOOD, "x": np.ones(3, np.float32)}, "gave 'x' as float32[3]; expected float32[-1, 2]"),
        ({**GOOD, "k": np.int64(3) + np.zeros((), np.int64)}, "as 'k'; expected an array"),
        ({**GOOD, "k": np.zeros((), np.int64)}, "gave 'k' as int64[]; expected int64[-1]"),
        ({**GOOD, "k": np.arange(3).astype(">i8")}, "gave 'k' as >i8[3]; expected int64[-1]"),
        ({**GOOD, "k": np.arange(2)}, "gave tensors of different numbers of rows: x 3, k 2; expected as many of each"),
    ],
)
def test_an_adapter_that_gives_something_else_is_refused(given: Any, words: str) -> None:
    assert words in failure(said(given))


def test_text_is_text() -> None:
    words = specs_of({"t": "BYTES[-1]"})
    for given, good in ((["a", "b"], True), (["a", b"b"], False)):
        array = np.array(given, dtype=object)
        parts = StageParts(StageWiring("read", words, (), {"q": Wire("query", "q")}, made(lambda q, a=array: {"t": a})))
        if good:
            assert len(parts(VALUES)) == 2
        else:
            assert "gave something other than text in 't'" in failure(parts)


def test_an_adapter_that_raises_is_named_with_what_it_raised() -> None:
    def refuse(q: Any) -> Any:
        raise KeyError("no such\n  letter " + 400 * "x")

    parts = StageParts(StageWiring("read", TWO, (), {"q": Wire("query", "q")}, made(refuse)))
    words = failure(parts)
    assert "raised KeyError: 'no such\\n letter xxx" in words
    assert len(words) < 450


@pytest.mark.parametrize("ending", [SystemExit(1), asyncio.CancelledError(1), GeneratorExit(1), BaseException(1)])
def test_an_adapter_cannot_end_who_calls_it(ending: BaseException) -> None:
    def leave(q: Any) -> Any:
        raise ending

    parts = StageParts(StageWiring("read", TWO, (), {"q": Wire("query", "q")}, made(leave), rows_per_job=2))
    assert failure(parts).endswith(f"leave raised {type(ending).__name__}: 1")


def test_an_adapter_cannot_change_what_others_see() -> None:
    def change(q: Any) -> Any:
        q += 1
        return GOOD

    parts = StageParts(StageWiring("read", TWO, (), {"q": Wire("query", "q")}, made(change)))
    assert "raised ValueError: output array is read-only" in failure(parts)
    assert VALUES["query"]["q"].tolist() == [0.0, 1.0, 2.0]
    assert VALUES["query"]["q"].flags.writeable, "others' own arrays stay as they are"


def test_without_an_adapter_the_tensors_are_passed_on() -> None:
    parts = StageParts(stage("b", x="a.y"))
    (part,) = parts(VALUES)
    assert part.inputs["x"].tolist() == [51]
    wrong = {"a": {"y": np.array([5.0])}}
    with pytest.raises(AdapterFailed, match=r"^stage 'b' gave 'x' as float64\[1\]; expected int64\[-1\]$"):
        parts(wrong)


IDS = TensorSpec("ids", "INT64", (-1, -1))


@pytest.mark.parametrize("length", [0, 9])
@pytest.mark.parametrize(("source", "error"), [("query", BadRequest), ("a", AdapterFailed)])
def test_what_is_longer_than_a_stage_takes_is_whose_fault_it_is(
    length: int, source: str, error: type[AccordError]
) -> None:
    rule = LengthRule.of(Lengths(longest=8), (IDS,), ())
    parts = StageParts(StageWiring("b", (IDS,), (), {"ids": Wire(source, "text")}, lengths=rule))
    (part,) = parts({source: {"text": np.ones((1, 8), np.int64)}})
    assert part.inputs["ids"].shape == (1, 8)
    with pytest.raises(error, match=f"^stage 'b': input 'ids' has length {length} on axis 1; send 1 to 8$"):
        parts({source: {"text": np.ones((1, length), np.int64)}})
    assert list(parts({source: {"text": np.ones((0, 0), np.int64)}})) == []


def test_a_tensor_that_a_stage_did_not_give_is_missed() -> None:
    with pytest.raises(AdapterFailed, match=r"^b.inputs.x takes a.y, and what 'a' gave for this query is z$"):
        StageParts(stage("b", x="a.y"))({"a": {"z": np.zeros(1)}})


def test_inputs_of_stages_that_were_skipped_are_left_out() -> None:
    parts = StageParts(stage("c", either, left="a.y", right="b.y"))
    (part,) = parts(VALUES)
    assert part.inputs["x"].tolist() == [51]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("given", [True, False, np.True_, np.False_])
def test_a_condition_says_whether_a_stage_runs(given: Any, negated: bool) -> None:
    told = Condition(function=lambda y: given, inputs=specs_of({"y": "INT64[-1]"}))
    runs = StageRuns(stage("b", x="query.x", **{"unless" if negated else "when": told}))
    assert runs(VALUES) is (bool(given) is not negated)


@pytest.mark.parametrize("given", [1, None, "yes", np.array([True])])
def test_a_condition_must_say_yes_or_no(given: Any) -> None:
    told = Condition(function=lambda y: given, inputs=specs_of({"y": "INT64[-1]"}))
    with pytest.raises(AdapterFailed, match=r"^stage 'b': condition .* gave .*; expected True or False$"):
        StageRuns(stage("b", x="query.x", when=told))(VALUES)


def test_a_condition_that_raises_is_named() -> None:
    @condition(inputs={"y": "INT64[-1]"})
    def refuse(y: Any) -> bool:
        raise RuntimeError

    with pytest.raises(AdapterFailed, match=r"stage 'b': condition .*refuse raised RuntimeError$"):
        StageRuns(stage("b", x="query.x", when=refuse))(VALUES)


def test_a_stage_of_whose_own_inputs_nothing_is_left_does_not_run() -> None:
    runs = StageRuns(stage("d", either, left="b.y", right="c.y", when=odd))
    assert not runs(VALUES)
    assert runs({**VALUES, "c": VALUES["a"]})


def reply(rows: int, given: Any = None, wires: dict[str, Wire] | None = None) -> Any:
    through = (
        None
        if given is None
        else Adapter(
            function=lambda y: given, inputs=specs_of({"y": "INT64[-1]"}), outputs=specs_of({"z": "INT64[-1]"})
        )
    )
    outputs = (TensorSpec("y" if through is None else "z", "INT64", (-1,)),)
    make = PipelineAnswer(AnswerWiring(wires or {"y": Wire("a", "y")}, through), outputs)
    return make(Query(1, "e", 0.0, 1.0, rows), VALUES)


def test_an_answer_has_the_rows_of_its_query() -> None:
    assert reply(1)["y"].tolist() == [51]
    assert reply(2, {"z": np.array([1, 2])})["z"].tolist() == [1, 2]
    with pytest.raises(AdapterFailed, match=r"^the answer has 1 rows; expected 2, as many as the query$"):
        reply(2)
    with pytest.raises(AdapterFailed, match=r"^the answer: adapter .* has 2 rows; expected 1, as many as the query$"):
        reply(1, {"z": np.array([1, 2])})
    with pytest.raises(AdapterFailed, match=r"^the answer: adapter .* gave 'z' as float64\[1\]; expected int64\[-1\]$"):
        reply(1, {"z": np.array([1.0])})


def test_there_is_no_answer_where_what_it_is_made_of_was_skipped() -> None:
    with pytest.raises(NothingToAnswer, match=r"the answer is made of b.y, and stage b was skipped for this query"):
        reply(1, wires={"y": Wire("b", "y")})


def test_a_graph_travels_between_processes() -> None:
    stages = [stage("a", x="query.x"), stage("b", cut, y="a.y", when=odd)]
    graph = pickle.loads(pickle.dumps(graph_of(stages)[0]))
    assert graph.nodes[1].parts.stage.adapter is cut
    parts = graph.nodes[1].parts({"a": {"y": np.array([21])}})
    assert [part.inputs["x"].tolist() for part in parts] == [[210], [211]]
