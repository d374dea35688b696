"""What a built variant says of texts, asked beside any service."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from catalog.texts.tokens import TextTokenizer
from catalog.zoo.sentiment.pretrained import TOKENIZER

_BATCH_SIZE = 64


def predicted(folder: Path, texts: Sequence[str], max_length: int, threads: int) -> NDArray[np.int64]:
    """Class index of each text by the variant in ``folder``."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    tokenizer = TextTokenizer(folder / TOKENIZER, max_length)
    order = np.argsort([len(text) for text in texts], kind="stable")
    found = np.zeros(len(texts), dtype=np.int64)
    for start in range(0, len(texts), _BATCH_SIZE):
        chunk = order[start : start + _BATCH_SIZE]
        ids, mask = tokenizer([texts[index] for index in chunk])
        given = {"input_ids": ids, "attention_mask": mask}
        found[chunk] = session.run(["label"], {name: given[name] for name in names})[0]
    return found
