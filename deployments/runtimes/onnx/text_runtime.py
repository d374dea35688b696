"""Texts: a tokenizer and an ONNX file, run by ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np

from catalog.errors import ArtifactError, ConfigError
from catalog.texts.tokens import TextTokenizer
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.known_options import refuse_unknown_options
from deployments.runtimes.onnx.gpu_memory import SESSION_BYTES
from deployments.runtimes.onnx.onnx_session import MEMORY_PER_FILE_BYTE, check_names, open_session

KNOWN_OPTIONS = ("max_length",)
"""``max_length``: tokens after which a text is cut."""

MAX_LENGTH = 128
"""Tokens of a text unless the variant's options say otherwise."""

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"

FEEDS = ("input_ids", "attention_mask", "token_type_ids")
"""What a model of text may take, all INT64 [texts, tokens]; the last is all zeros."""


class TextRuntime:
    """A `ModelRuntime` for a folder with ``model.onnx`` and ``tokenizer.json`` (of the `tokenizers` library).

    Takes one BYTES tensor of shape [-1], the texts. The model takes ``input_ids`` and, where it has them,
    ``attention_mask`` and ``token_type_ids``; its outputs are those of the catalogue. A text is padded to the longest
    of its batch, which the model has to mask out.
    """

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        _check(variant)
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._outputs = [spec.name for spec in variant.outputs]
        self._fed: list[str] = []
        self._tokenizer: TextTokenizer | None = None
        self._session: Any = None
        self._file_bytes: int | None = None  # of what is loaded, whatever becomes of the files

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        model, tokenizer = self._artifact / MODEL, self._artifact / TOKENIZER
        for file in (model, tokenizer):
            if not file.is_file():
                raise ArtifactError(
                    f"variant {self._variant.name!r}: no {file.name} in {self._artifact}; the artifact of runtime "
                    f"'text' is a folder with {MODEL} and {TOKENIZER}"
                )
        session = open_session(self._variant, model, self._options)
        had = {node.name for node in session.get_inputs()}
        check_names(self._variant, "inputs", {FEEDS[0]} | (had & set(FEEDS)), model, session.get_inputs())
        check_names(self._variant, "outputs", set(self._outputs), model, session.get_outputs())
        try:
            self._tokenizer = TextTokenizer(tokenizer, self._variant.options.get("max_length", MAX_LENGTH))
        except Exception as error:  # the library raises plain Exception
            raise base.load_error(self._variant, tokenizer, error) from error
        self._fed = [name for name in FEEDS if name in had]
        self._file_bytes = base.artifact_bytes(self._artifact)
        self._session = session
        base.trial_run(self, self._variant)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`."""
        session = base.require_loaded(self._variant, self._session)
        assert self._tokenizer is not None  # it is there whenever the session is
        (texts,) = inputs.values()
        ids, mask = self._tokenizer(texts.tolist())
        given = dict(zip(FEEDS, (ids, mask, np.zeros_like(ids)), strict=True))
        found = session.run(self._outputs, {name: given[name] for name in self._fed})
        outputs = dict(zip(self._outputs, found, strict=True))
        base.check_outputs(self._variant, outputs, len(texts))
        return outputs

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._session = self._tokenizer = self._file_bytes = None

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`; the same before and after loading, since a session tells no sizes."""
        file_bytes = base.artifact_bytes(self._artifact) if self._file_bytes is None else self._file_bytes
        return int(file_bytes * MEMORY_PER_FILE_BYTE) + (0 if self._options.cuda_index is None else SESSION_BYTES)


def _check(variant: Variant) -> None:
    refuse_unknown_options(variant, KNOWN_OPTIONS)
    given = variant.options.get("max_length", MAX_LENGTH)
    if type(given) is not int or given < 1:
        raise ConfigError(f"variant {variant.name!r}: max_length is {given!r}; give a number of tokens, at least 1")
    if [(spec.datatype, spec.shape) for spec in variant.inputs] != [("BYTES", (-1,))]:
        found = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.inputs)
        raise ConfigError(f"variant {variant.name!r}: runtime 'text' takes one BYTES input of shape [-1], not {found}")
