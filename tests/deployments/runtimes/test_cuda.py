"""The runtimes on a real CUDA device, against themselves on the CPU."""

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from catalog.catalogue import load_catalogue
from catalog.errors import ConfigError
from catalog.tensor import TensorSpec
from catalog.variant import Artifact, Variant
from deployments.runtimes.base import ModelRuntime, RuntimeOptions, Tensors
from deployments.runtimes.registry import create

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU with CUDA, and PyTorch built for it")

TOLERANCE = 5e-3
"""Of probabilities: GPUs multiply 32-bit floats with 10 bits of mantissa (TF32) unless told otherwise."""

ZOO = load_catalogue("builtin")
SCRIPT = Variant(
    name="net",
    task="t",
    runtime="torch",
    artifact=Artifact("net.pt2"),
    accuracy=0.5,
    inputs=(TensorSpec("x", "FP32", (-1, 256)),),
    outputs=(TensorSpec("scores", "FP32", (-1, 3)),),
)
BERT = Variant(
    name="bert",
    task="t",
    runtime="transformers",
    artifact=Artifact("bert"),
    accuracy=0.5,
    inputs=(TensorSpec("text", "BYTES", (-1,)),),
    outputs=(TensorSpec("label", "INT64", (-1,)), TensorSpec("probabilities", "FP32", (-1, 2))),
)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad"]


def loaded(variant: Variant, artifact: Path, device: str) -> ModelRuntime:
    runtime = create(variant, artifact, RuntimeOptions(device))
    runtime.load()
    return runtime


def on_both(variant: Variant, artifact: Path, inputs: Tensors) -> tuple[Tensors, Tensors]:
    """Outputs on the CPU and on the first GPU."""
    outputs = []
    for device in ("cpu", "cuda:0"):
        runtime = loaded(variant, artifact, device)
        outputs.append(runtime.run(inputs))
        runtime.unload()
    return outputs[0], outputs[1]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(256, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3), torch.nn.Softmax(1))
    path = tmp_path_factory.mktemp("net") / "net.pt2"
    dynamic = ({0: torch.export.Dim.DYNAMIC},)
    torch.export.save(torch.export.export(module.eval(), (torch.zeros(2, 256),), dynamic_shapes=dynamic), path)
    return path


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    torch.manual_seed(2)
    words = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    folder = tmp_path_factory.mktemp("bert")
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


def images(variant: Variant, rows: int) -> NDArray[Any]:
    shape = (rows, *variant.inputs[0].item_shape)
    return np.random.default_rng(3).uniform(0, 16, shape).astype(variant.inputs[0].dtype)


@pytest.mark.parametrize("variant", ZOO.of_task("digits"), ids=lambda variant: variant.name)
def test_onnx_variants_answer_as_on_the_cpu_whatever_the_size_of_the_batch(variant: Variant) -> None:
    artifact = Path(ZOO.root) / variant.artifact.uri
    for rows in (1, 3, variant.max_batch):
        cpu, gpu = on_both(variant, artifact, {variant.inputs[0].name: images(variant, rows)})
        for spec in variant.outputs:
            if spec.dtype == np.float32:
                np.testing.assert_allclose(gpu[spec.name], cpu[spec.name], atol=TOLERANCE)


def test_an_exported_program_answers_as_on_the_cpu(net: Path) -> None:
    x = np.random.default_rng(4).normal(size=(33, 256)).astype(np.float32)
    cpu, gpu = on_both(SCRIPT, net, {"x": x})
    np.testing.assert_allclose(gpu["scores"], cpu["scores"], atol=TOLERANCE)
    assert np.ptp(cpu["scores"], axis=0).max() > 10 * TOLERANCE


def test_a_transformer_answers_as_on_the_cpu(bert: Path) -> None:
    texts = np.array(["good", "bad good good", "", "bad " * 40], dtype=object)
    cpu, gpu = on_both(BERT, bert, {"text": texts})
    np.testing.assert_allclose(gpu["probabilities"], cpu["probabilities"], atol=TOLERANCE)
    assert np.ptp(cpu["probabilities"], axis=0).max() > 10 * TOLERANCE


@pytest.fixture
def large(tmp_path: Path) -> tuple[Variant, Path]:
    """An ONNX file with 64 MiB of weights."""
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    weight = np.random.default_rng(5).normal(size=(4096, 4096)).astype(np.float32)
    sides = [[helper.make_tensor_value_info(name, kind, ["n", 4096])] for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", *sides, [onnx.numpy_helper.from_array(weight, "w")]
    )
    path = tmp_path / "large.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    specs = [(TensorSpec(name, "FP32", (-1, 4096)),) for name in ("x", "y")]
    return Variant("large", "t", "onnx", Artifact("large.onnx"), 0.5, inputs=specs[0], outputs=specs[1]), path


def test_unloading_gives_the_memory_of_the_gpu_back(large: tuple[Variant, Path]) -> None:
    """The first session starts CUDA itself, whose memory the process keeps."""
    variant, artifact = large

    def free_bytes() -> int:
        return int(torch.cuda.mem_get_info(0)[0])

    loaded(variant, artifact, "cuda").unload()
    gc.collect()
    before = free_bytes()
    runtime = loaded(variant, artifact, "cuda")
    taken = before - free_bytes()
    assert taken > 60e6
    assert taken < 3 * runtime.memory_bytes()
    runtime.unload()
    gc.collect()
    assert before - free_bytes() < 8e6


@pytest.mark.parametrize("variant", ["onnx", "torch"])
def test_a_gpu_that_is_not_there_is_refused_with_the_remedy(variant: str, net: Path) -> None:
    digits = ZOO.of_task("digits")[0]
    wanted, artifact = (SCRIPT, net) if variant == "torch" else (digits, Path(ZOO.root) / digits.artifact.uri)
    with pytest.raises(ConfigError, match=r"device 'cuda:99' was asked for, but .*set the device to cpu"):
        create(wanted, artifact, RuntimeOptions("cuda:99")).load()
