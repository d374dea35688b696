"""Text classification with Hugging Face transformers, from a local folder only."""

import os
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from catalog.errors import ArtifactError, ConfigError
from catalog.texts.token_estimate import characters_for
from catalog.variant import Variant
from deployments.runtimes import base
from deployments.runtimes.base import RuntimeOptions, Tensors
from deployments.runtimes.classifier_folder import REMEDY, other_than_classes, without_vocabulary
from deployments.runtimes.known_options import refuse_unknown_options
from deployments.runtimes.torch_device import (
    MEMORY_PER_WEIGHT_BYTE,
    module_bytes,
    release_cached,
    torch_device,
    use_threads,
)

KNOWN_OPTIONS = ("max_length",)
"""``max_length``: tokens after which a text is cut; without it, as many as tokenizer and model can take."""


class TransformersRuntime:
    """A `ModelRuntime` for a folder of ``save_pretrained`` with a tokenizer and a sequence classifier.

    Takes one BYTES tensor of shape [-1], the texts. Gives ``label`` INT64 [-1], the index of the likeliest class,
    and ``probabilities`` FP32 [-1, classes]; the variant's outputs name either or both.
    """

    def __init__(self, variant: Variant, artifact: Path, options: RuntimeOptions) -> None:
        refuse_unknown_options(variant, KNOWN_OPTIONS)
        given = variant.options.get("max_length")
        if given is not None and (type(given) is not int or given < 1):
            raise ConfigError(f"variant {variant.name!r}: max_length is {given!r}; give a number of tokens, at least 1")
        if [(spec.datatype, spec.shape) for spec in variant.inputs] != [("BYTES", (-1,))]:
            found = ", ".join(f"{spec.name} {spec.datatype} {list(spec.shape)}" for spec in variant.inputs)
            raise ConfigError(
                f"variant {variant.name!r}: runtime 'transformers' takes one BYTES input of shape [-1], not {found}"
            )
        self._variant = variant
        self._artifact = artifact
        self._options = options
        self._tokenizer: Any = None
        self._model: Any = None
        self._max_length = 0
        self._keeps_end = self._pads_left = False

    def load(self) -> None:
        """See `ModelRuntime.load`."""
        device = torch_device(self._options)
        use_threads(self._options.threads)
        # the tokenizer's own pool would take every core of the machine, whatever `threads` allows
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        if not self._artifact.is_dir():  # transformers would take it for the name of a model on the hub
            raise ArtifactError(f"variant {self._variant.name!r}: {self._artifact} is no folder; fetch it first")
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                str(self._artifact), local_files_only=True, trust_remote_code=False
            )
            model, report = AutoModelForSequenceClassification.from_pretrained(
                str(self._artifact),
                local_files_only=True,
                trust_remote_code=False,  # else it would ask at a terminal that nobody is at
                use_safetensors=True,  # never pickled weights
                output_loading_info=True,
            )
        except Exception as error:  # transformers raises whatever its parsers do
            raise base.load_error(self._variant, self._artifact, error) from error
        self._check_tokenizer(tokenizer)
        self._check_model(model, report)
        self._max_length = self._token_limit(tokenizer, model)
        self._keeps_end = tokenizer.truncation_side == "left"
        self._pads_left = tokenizer.padding_side == "left"
        self._tokenizer, self._model = tokenizer, model.to(device).eval()
        base.trial_run(self, self._variant)

    def run(self, inputs: Tensors) -> Tensors:
        """See `ModelRuntime.run`; a text is padded to the longest of its batch, which attention masks out."""
        model = base.require_loaded(self._variant, self._model)
        use_threads(self._options.threads)
        texts = [self._cut(text) for text in inputs[self._variant.inputs[0].name].tolist()]
        tokens = self._tokens(texts)
        with torch.inference_mode():
            probabilities = model(**tokens.to(model.device)).logits.float().softmax(-1)
        given = {"label": probabilities.argmax(-1).cpu().numpy(), "probabilities": probabilities.cpu().numpy()}
        names = {spec.name for spec in self._variant.outputs}
        if not names <= set(given):
            raise base.wrong_outputs(self._variant, ", ".join(given))
        outputs = {name: array for name, array in given.items() if name in names}
        base.check_outputs(self._variant, outputs, len(texts))
        return outputs

    def _tokens(self, texts: list[str]) -> Any:
        """Padded to the longest of the batch; of an empty text without special tokens, one token of padding."""
        cut = {"truncation": True, "max_length": self._max_length, "return_tensors": "pt"}
        tokens = self._tokenizer(texts, padding=True, **cut)
        if not tokens["input_ids"].shape[1]:
            tokens = self._tokenizer(texts, padding="max_length", **{**cut, "max_length": 1})
        mask = tokens.get("attention_mask")
        if mask is not None:
            mask[mask.sum(dim=1) == 0, -1 if self._pads_left else 0] = 1
        return tokens

    def _cut(self, text: str) -> str:
        """The side of a text that the tokenizer keeps: it would go through all of a text of megabytes first."""
        characters = characters_for(self._max_length)
        return text[-characters:] if self._keeps_end else text[:characters]

    def unload(self) -> None:
        """See `ModelRuntime.unload`."""
        self._tokenizer = self._model = None
        release_cached(self._options)

    def memory_bytes(self) -> int:
        """See `ModelRuntime.memory_bytes`; nearly all of the folder is the weights."""
        if self._model is None:
            return int(base.artifact_bytes(self._artifact) * MEMORY_PER_WEIGHT_BYTE)
        return module_bytes(self._model)

    def _check_tokenizer(self, tokenizer: Any) -> None:
        missing = without_vocabulary(self._artifact, tokenizer)
        if missing is not None:
            raise ArtifactError(
                f"variant {self._variant.name!r}: {self._artifact.name} has no tokenizer ({missing}), so that every "
                "word would be unknown; put there what the tokenizer's save_pretrained writes"
            )

    def _check_model(self, model: Any, report: dict[str, Any]) -> None:
        untrained = sorted(str(key) for key in (*report["missing_keys"], *report["mismatched_keys"]))
        if untrained:  # transformers fills them with random numbers and goes on
            raise ArtifactError(
                f"variant {self._variant.name!r}: {self._artifact.name} has no usable weights for "
                f"{', '.join(untrained)}; save the trained classifier, not the model that it started from"
            )
        if (why := other_than_classes(model.config)) is not None:
            raise ArtifactError(
                f"variant {self._variant.name!r}: {self._artifact.name} {why}, and runtime 'transformers' gives the "
                f"likeliest class; {REMEDY}"
            )
        labels = self._variant.labels
        if labels and len(labels) != model.config.num_labels:
            raise ArtifactError(
                f"variant {self._variant.name!r} has {len(labels)} labels in the catalogue, but {self._artifact.name} "
                f"tells {model.config.num_labels} classes apart; correct the labels or the artifact"
            )

    def _token_limit(self, tokenizer: Any, model: Any) -> int:
        """Tokens of the longest text; a tokenizer that knows no limit gives a huge one.

        Models that number positions from behind that of padding (RoBERTa and its kin) have so many fewer.
        """
        positions = getattr(model.config, "max_position_embeddings", None)
        for name, module in model.named_modules():
            if positions and name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
                positions -= module.padding_idx + 1
        limit = int(min(tokenizer.model_max_length, positions or tokenizer.model_max_length))
        wanted = int(self._variant.options.get("max_length", limit))
        if wanted > limit:
            raise ConfigError(
                f"variant {self._variant.name!r}: max_length is {wanted}, but {self._artifact.name} takes at most "
                f"{limit} tokens; lower it"
            )
        return wanted
