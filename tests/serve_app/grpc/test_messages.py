"""Messages over gRPC to requests and back."""

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import AccordError, BadRequest
from catalog.tensor import DTYPES, TensorSpec
from dispatch.commands import Answer, StageRun
from dispatch.query import Query
from serve_app.grpc.protocol import inference_pb2 as pb
from serve_app.grpc.requests import CONTENTS, decode
from serve_app.grpc.responses import encode
from serve_app.grpc.status import CODES
from serve_app.http.endpoint_info import EndpointInfo
from serve_app.oip.inference import Inferred
from serve_app.oip.raw_tensors import to_raw

SAMPLES: dict[str, list[Any]] = {
    "BOOL": [True, False, True],
    "BYTES": ["a", "", "ü"],
    **{name: [0, 1, 100] for name in DTYPES if name not in ("BOOL", "BYTES")},
}


def info(datatype: str) -> EndpointInfo:
    spec = TensorSpec("x", datatype, (-1,))
    return EndpointInfo("echo", {"": "echo"}, (spec,), (TensorSpec("y", datatype, (-1,)),), (), 8)


def message(datatype: str, values: list[Any], raw: bool, **rest: Any) -> pb.ModelInferRequest:
    request = pb.ModelInferRequest(model_name="echo", **rest)
    tensor = request.inputs.add(name="x", datatype=datatype, shape=[len(values)])
    if raw:
        array = np.array(values, DTYPES[datatype])
        request.raw_input_contents.append(bytes(to_raw(array, TensorSpec("x", datatype, (-1,)))))
    else:
        given = [each.encode() for each in values] if datatype == "BYTES" else values
        getattr(tensor.contents, CONTENTS[datatype]).extend(given)
    return request


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("datatype", list(DTYPES))
def test_every_datatype_is_read_and_answered_in_the_form_in_which_it_came(datatype: str, raw: bool) -> None:
    if not raw and datatype not in CONTENTS:
        with pytest.raises(BadRequest, match="has 0 bytes"):
            decode(pb.ModelInferRequest(inputs=[{"name": "x", "datatype": datatype, "shape": [3]}]), info(datatype))
        return
    values = SAMPLES[datatype]
    request = decode(message(datatype, values, raw), info(datatype))
    assert request.inputs["x"].dtype == DTYPES[datatype]
    assert request.inputs["x"].tolist() == values
    answer = Answer(Query(1, "echo", 0.0, 1.0), "v", 0.9, {"y": request.inputs["x"]}, 3, 0.1, 0.2, 0.05)
    response = encode(request, Inferred(answer, "id", {}), info(datatype), raw=raw)
    (output,) = response.outputs
    assert (output.name, output.datatype, list(output.shape)) == ("y", datatype, [3])
    assert (response.model_name, response.model_version, response.id) == ("echo", "1", "id")
    if raw:
        assert list(response.raw_output_contents) == list(message(datatype, values, True).raw_input_contents)
    else:
        assert not response.raw_output_contents
        given = list(getattr(output.contents, CONTENTS[datatype]))
        assert [each.decode() for each in given] == values if datatype == "BYTES" else given == values


def test_an_output_without_typed_contents_has_all_of_them_go_raw() -> None:
    specs = (TensorSpec("y", "FP32", (-1,)), TensorSpec("h", "FP16", (-1,)))
    mixed = EndpointInfo("echo", {"": "echo"}, (TensorSpec("x", "INT8", (-1,)),), specs, (), 8)
    request = decode(message("INT8", [1], raw=False), mixed)
    outputs = {"y": np.ones(1, np.float32), "h": np.ones(1, np.float16)}
    answer = Answer(Query(1, "echo", 0.0, 1.0), "v", 0.9, outputs, 1, 0.1, 0.2, 0.05)
    response = encode(request, Inferred(answer, "id", {"emulated": True}), mixed, raw=False)
    assert [len(each) for each in response.raw_output_contents] == [4, 2]
    assert response.parameters["emulated"].bool_param is True


def test_parameters_keep_their_kinds_and_lists_go_as_json() -> None:
    request = decode(message("FP32", [1.0], raw=True), info("FP32"))
    runs = (StageRun("a", "v", 1, 0.0, 0.1, 0.2, 0.05),)
    outputs = {"y": request.inputs["x"]}
    answer = Answer(Query(1, "echo", 0.0, 1.0), "a:v", 0.9, outputs, 1, 0.1, 0.2, 0.05, {"v": [3]}, runs)
    told = encode(request, Inferred(answer, "id", {}), info("FP32"), raw=True).parameters
    assert told["variant"].string_param == "a:v"
    assert told["expected_accuracy"].double_param == 0.9
    assert told["batch_size"].int64_param == 1
    assert told["deadline_met"].bool_param is True
    assert told["variants"].string_param == '["v"]'
    assert told["stages"].string_param.startswith('[{"stage":"a"')


def test_what_is_asked_beside_the_tensors_is_read() -> None:
    asked = message("FP32", [1.0], raw=True, id="mine")
    asked.parameters["timeout"].int64_param = 20_000
    asked.parameters["priority"].uint64_param = 1
    asked.parameters["binary_data_output"].bool_param = True
    asked.outputs.add(name="y")
    request = decode(asked, info("FP32"))
    assert (request.id, request.slo_s, request.priority, request.outputs) == ("mine", pytest.approx(0.02), 1, ("y",))
    assert decode(message("FP32", [1.0], raw=True), info("FP32")).id is None


def test_faults_are_told() -> None:
    two = message("FP32", [1.0], raw=True)
    two.raw_input_contents.append(b"1234")
    with pytest.raises(BadRequest, match="2 entries for 1 inputs"):
        decode(two, info("FP32"))
    for datatype, value in (("INT8", 128), ("UINT16", 2**16), ("INT16", -(2**15) - 1)):
        with pytest.raises(BadRequest, match=f"a value does not fit {datatype}"):
            decode(message(datatype, [value], raw=False), info(datatype))
    with pytest.raises(BadRequest, match="has datatype 'FP64'; expected 'FP32'"):
        decode(message("FP64", [1.0], raw=False), info("FP32"))
    with pytest.raises(BadRequest, match="holds NaN"):
        decode(message("FP32", [np.nan], raw=False), info("FP32"))
    with pytest.raises(BadRequest, match="'inputs' must be a list of tensors"):
        decode(pb.ModelInferRequest(), info("FP32"))
    both = message("FP32", [1.0], raw=False)
    both.raw_input_contents.append(b"1234")
    with pytest.raises(BadRequest, match="input 'x' has contents beside raw_input_contents"):
        decode(both, info("FP32"))
    for datatype, told in (("FP64", "goes in fp64_contents, which has none"), ("FP16", "goes in raw_input_contents")):
        wrong = message("FP32", [1.0], raw=False)
        wrong.inputs[0].datatype = datatype
        with pytest.raises(BadRequest, match=f"input 'x' has contents, and '{datatype}' {told}"):
            decode(wrong, info(datatype))
    shared = pb.ModelInferRequest(inputs=[{"name": "x", "datatype": "FP32", "shape": [1]}])
    shared.inputs[0].parameters["shared_memory_region"].string_param = "here"
    with pytest.raises(BadRequest, match=r"input 'x': parameters\.shared_memory_region is of an extension"):
        decode(shared, info("FP32"))


@given(st.binary(max_size=60), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), st.text(max_size=5))
def test_any_raw_contents_are_read_or_refused(raw: bytes, shape: list[int], datatype: str) -> None:
    request = pb.ModelInferRequest(raw_input_contents=[raw])
    request.inputs.add(name="x", datatype=datatype or "BYTES", shape=shape)
    with contextlib.suppress(BadRequest):
        assert decode(request, info("BYTES")).inputs["x"].shape == tuple(shape)


def test_every_error_has_a_code() -> None:
    def below(kind: type[AccordError]) -> set[int]:
        return {kind.status}.union(*(below(each) for each in kind.__subclasses__()))

    assert below(AccordError) - {405} <= CODES.keys()
