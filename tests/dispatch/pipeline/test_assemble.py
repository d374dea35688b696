"""Stages that cannot be joined are refused, each with the edge named and what was expected."""

from dataclasses import replace

import pytest

from catalog.adapter import Adapter, adapter, condition
from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from dispatch.pipeline.assemble import graph_of
from dispatch.pipeline.wiring import AnswerWiring, StageWiring, Wire
from pipeline_scene import Numbers, answer, both, either, odd, stage, total

FIND = StageWiring(
    "find",
    (TensorSpec("image", "FP32", (-1, 8, 96), allow_nan=True),),
    (TensorSpec("boxes", "INT64", (-1, 4)), TensorSpec("scores", "FP32", (-1,))),
    {"image": Wire("query", "image")},
)
READ = StageWiring(
    "read",
    (TensorSpec("image", "FP32", (-1, 64)),),
    (TensorSpec("label", "INT64", (-1,)),),
    {"image": Wire("find", "crop")},
)
CROPS = {"image": "FP32[-1,8,96]", "boxes": "INT64[-1,4]"}


@adapter(inputs=CROPS, outputs={"image": "FP32[-1,64]"})
def crop(image: Numbers, boxes: Numbers) -> dict[str, Numbers]:
    raise AssertionError("nothing is called while a graph is made")


@adapter(inputs=CROPS, outputs={"image": "FP64[-1,64]"})
def crop_to_doubles(image: Numbers, boxes: Numbers) -> dict[str, Numbers]:
    raise AssertionError("nothing is called while a graph is made")


@adapter(inputs=CROPS, outputs={"crop": "FP32[-1,64]"})
def crop_by_another_name(image: Numbers, boxes: Numbers) -> dict[str, Numbers]:
    raise AssertionError("nothing is called while a graph is made")


@adapter(inputs={"image": "FP32[-1,8,96]"}, outputs={"image": "FP32[-1,8,96]"})
def as_it_is(image: Numbers) -> dict[str, Numbers]:
    raise AssertionError("nothing is called while a graph is made")


@condition(inputs={"scores": "FP32[-1]", "limit": "FP32[-1]"})
def sure(scores: Numbers, limit: Numbers | None = None) -> bool:
    raise AssertionError("nothing is called while a graph is made")


def read(through: Adapter | None = crop, **wires: str) -> StageWiring:
    given = {name: Wire.read(wire, name) for name, wire in wires.items()}
    return replace(READ, wires=given, adapter=through)


CROPPED = read(image="query.image", boxes="find.boxes")


def test_a_graph_says_what_queries_must_have_and_what_they_get() -> None:
    graph, inputs, outputs = graph_of([FIND, CROPPED])
    assert [node.name for node in graph.nodes] == ["find", "read"]
    assert inputs == (TensorSpec("image", "FP32", (-1, 8, 96)),), "who does not allow NaN decides"
    assert outputs == (TensorSpec("label", "INT64", (-1,)),)
    assert {name: array.shape for name, array in graph.nodes[0].nothing.items()} == {"boxes": (0, 4), "scores": (0,)}


def test_stages_may_be_given_in_any_order() -> None:
    graph, _, _ = graph_of(
        [stage("c", x="b.y"), stage("b", x="a.y"), stage("d", both, left="c.y", right="a.y"), stage("a", x="query.x")]
    )
    assert [node.name for node in graph.nodes] == ["a", "b", "c", "d"]


def test_an_answer_may_take_other_names_of_several_stages_and_of_the_query() -> None:
    _, inputs, outputs = graph_of([FIND, CROPPED], answer(number="read.label", image="query.image", where="find.boxes"))
    assert [spec.name for spec in inputs] == ["image"]
    assert [(spec.name, spec.datatype, spec.shape) for spec in outputs] == [
        ("number", "INT64", (-1,)),
        ("image", "FP32", (-1, 8, 96)),
        ("where", "INT64", (-1, 4)),
    ]
    _, _, outputs = graph_of([stage("a", x="query.x")], answer(total, y="a.y"))
    assert outputs == total.outputs


def test_which_sources_a_stage_needs_is_what_its_functions_have_no_defaults_for() -> None:
    graph, _, _ = graph_of(
        [
            stage("a", x="query.x"),
            stage("b", x="a.y", when=odd),
            stage("c", either, left="b.y", right="query.x"),
            stage("d", either, left="b.y", right="c.y", unless=odd),
        ]
    )
    by_name = {node.name: node for node in graph.nodes}
    assert (by_name["b"].needs, by_name["b"].independent) == ({"a"}, False)
    assert (by_name["c"].needs, by_name["c"].independent) == (set(), True)
    assert (by_name["d"].sources, by_name["d"].needs, by_name["d"].independent) == (("b", "c", "a"), {"a"}, False)


def refusal(*stages: StageWiring, of: AnswerWiring | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        graph_of(stages, of)
    return str(caught.value)


def test_tensors_that_do_not_match_are_refused() -> None:
    words = refusal(FIND, read(None, image="find.boxes"))
    assert words == (
        "read.inputs.image takes find.boxes, INT64[-1,4]; expected FP32[-1,64], which the task of stage 'read' takes "
        "as 'image'"
    )
    words = refusal(FIND, read(image="query.image", boxes="find.scores"))
    assert words.startswith("read.inputs.boxes takes find.scores, FP32[-1]; expected INT64[-1,4], which adapter")
    assert "test_assemble:crop takes as 'boxes'" in words


def test_sources_and_tensors_that_are_not_there_are_refused_with_those_that_are() -> None:
    words = refusal(FIND, read(image="query.image", boxes="fnd.boxes"))
    assert words == (
        "read.inputs.boxes takes from 'fnd', which is no stage (did you mean 'find'?); there are find, read, and "
        "'query' for the query's own inputs"
    )
    words = refusal(FIND, read(image="query.image", boxes="find.box"))
    assert words == (
        "read.inputs.boxes takes find.box, and stage 'find' gives no 'box' (did you mean 'boxes'?); it gives boxes "
        "INT64[-1,4], scores FP32[-1]"
    )


def test_every_input_must_be_wired_and_nothing_else() -> None:
    words = refusal(FIND, read(image="query.image"))
    assert words.startswith("read.inputs.boxes is missing: adapter ")
    assert "takes 'boxes', INT64[-1,4]; name the source and tensor" in words
    words = refusal(FIND, read(image="query.image", boxes="find.boxes", scores="find.scores"))
    assert words.startswith("read.inputs.scores takes find.scores, and adapter ")
    assert words.endswith("has no input 'scores'; it takes image FP32[-1,8,96], boxes INT64[-1,4]")
    words = refusal(FIND, read(None, imag="find.boxes"))
    assert "the task of stage 'read' has no input 'imag' (did you mean 'image'?)" in words


def test_an_optional_input_need_not_be_wired() -> None:
    graph_of([stage("a", x="query.x"), stage("b", either, left="a.y")])


@pytest.mark.parametrize(
    ("through", "given"),
    [(crop_to_doubles, "image FP64[-1,64]"), (crop_by_another_name, "crop FP32[-1,64]")],
)
def test_an_adapter_must_give_what_the_stage_takes(through: Adapter, given: str) -> None:
    words = refusal(FIND, read(through, image="query.image", boxes="find.boxes"))
    assert words.startswith("read.adapter ")
    assert f"gives {given}; expected image FP32[-1,64], which the task of stage 'read' takes" in words


def test_conditions_are_held_to_the_same() -> None:
    told = replace(CROPPED, condition=sure, condition_wires={"scores": Wire("find", "boxes")})
    assert refusal(FIND, told).startswith("read.when.inputs.scores takes find.boxes, INT64[-1,4]; expected FP32[-1]")
    told = replace(told, negated=True)
    assert refusal(FIND, told).startswith("read.unless.inputs.scores takes find.boxes")
    told = replace(CROPPED, condition=sure, condition_wires={"limit": Wire("query", "limit")})
    assert refusal(FIND, told).startswith("read.when.inputs.scores is missing: condition ")


def test_all_that_take_an_input_of_the_query_must_agree_on_its_type() -> None:
    words = refusal(FIND, read(None, image="query.image"), of=answer(y="read.label", z="find.boxes"))
    assert words.startswith(
        "read.inputs.image takes query.image as FP32[-1,64], and find.inputs.image takes it as FP32[-1,8,96]"
    )


def test_stages_in_a_circle_are_refused_with_the_circle() -> None:
    circle = [
        stage("a", x="c.y"),
        stage("b", x="a.y"),
        stage("c", x="b.y"),
        stage("d", x="c.y"),
        stage("e", x="query.x"),
    ]
    assert "stages take from each other in a circle: a <- c <- b <- a" in refusal(*circle)
    assert "circle: a <- a" in refusal(stage("a", x="a.y"))
    assert "circle: b <- a <- b" in refusal(stage("d", x="b.y"), stage("a", x="b.y"), stage("b", x="a.y"))


def test_without_an_answer_one_stage_must_be_the_last() -> None:
    words = refusal(stage("a", x="query.x"), stage("b", x="a.y"), stage("c", x="a.y"))
    assert words.startswith("no other stage takes from any of b, c; say with `answer`")


def test_a_stage_that_nobody_takes_from_is_refused() -> None:
    words = refusal(stage("a", x="query.x"), stage("b", x="a.y"), of=answer(y="a.y"))
    assert words.startswith("nothing takes from stage 'b', neither another stage nor the answer")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (answer(), "answer.inputs takes nothing of any stage"),
        (answer(x="query.x"), "answer.inputs takes nothing of any stage"),
        (answer(y="b.y"), "answer.inputs takes from 'b', which is no stage"),
        (answer(y="a.z"), "answer.inputs.y takes a.z, and stage 'a' gives no 'z'; it gives y INT64[-1]"),
        (answer(y="a.y", z="query.z"), "answer.inputs.z takes query.z, and no stage does"),
        (answer(both, left="a.y"), "answer.inputs.right is missing: adapter pipeline_scene:both takes 'right'"),
    ],
)
def test_an_answer_of_what_is_not_there_is_refused(of: AnswerWiring, words: str) -> None:
    assert words in refusal(stage("a", x="query.x"), of=of)


def test_names_and_numbers_that_cannot_be_are_refused() -> None:
    assert "a pipeline has no stages" in refusal()
    assert "a stage is called 'query'" in refusal(stage("query", x="query.x"))
    assert "2 stages are called 'a'" in refusal(stage("a", x="query.x"), stage("a", x="query.x"))
    assert "a.rows_per_job is 0; give a whole number of at least 1" in refusal(stage("a", x="query.x", rows_per_job=0))


@pytest.mark.parametrize("written", ["find", ".boxes", "find.", ""])
def test_a_wire_is_a_source_and_a_tensor(written: str) -> None:
    with pytest.raises(ConfigError, match=f"read.inputs.image is '{written}'; write source.tensor, such as find.boxes"):
        Wire.read(written, "read.inputs.image")


def test_tensors_may_have_dots_in_their_names() -> None:
    assert Wire.read("find.input.1", "here") == Wire("find", "input.1")
