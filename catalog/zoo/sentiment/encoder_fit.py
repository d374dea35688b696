"""Tunes an encoder with low-rank updates, in torch."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from catalog.zoo.sentiment.deltas import DOWN, UP, linear_names
from catalog.zoo.sentiment.encoder_graph import EPSILON, MASKED, Weights
from catalog.zoo.sentiment.pretrained import HEADS
from catalog.zoo.sentiment.recipes import EncoderRecipe
from catalog.zoo.sentiment.trained import Tensors

_WEIGHT_DECAY = 0.01
_WARM_UP_FRAC = 0.1
_LARGEST_GRADIENT = 1.0
_BATCHES_SORTED = 16
"""Batches whose texts are sorted by length together, so that texts of a batch are of about one length."""


class TunedEncoder(nn.Module):
    """Some layers of a frozen encoder, with a low-rank update on every linear map and a head."""

    def __init__(self, recipe: EncoderRecipe, pretrained: Weights, classes: int) -> None:
        super().__init__()
        self._recipe = recipe
        self._fixed = {name: torch.from_numpy(array) for name, array in pretrained.items()}
        generator = torch.Generator().manual_seed(recipe.seed)
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name in linear_names(recipe.layers):
            outputs, inputs = pretrained[f"{name}.weight"].shape
            drawn = torch.randn(recipe.rank, inputs, generator=generator) / math.sqrt(inputs)
            self.down[_key(name)] = nn.Parameter(drawn)
            self.up[_key(name)] = nn.Parameter(torch.zeros(outputs, recipe.rank))
        width = pretrained["embeddings.LayerNorm.bias"].shape[0]
        self.head = nn.Linear(width, classes)
        nn.init.normal_(self.head.weight, std=0.02, generator=generator)
        nn.init.zeros_(self.head.bias)

    def delta(self) -> Tensors:
        """What was learned, by the names of `deltas`."""
        learned = {f"{name}.{DOWN}": self.down[_key(name)] for name in linear_names(self._recipe.layers)}
        learned |= {f"{name}.{UP}": self.up[_key(name)] for name in linear_names(self._recipe.layers)}
        learned |= {"head.weight": self.head.weight, "head.bias": self.head.bias}
        return {name: tensor.detach().numpy() for name, tensor in learned.items()}

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Logits [texts, classes] of token ids and a mask of booleans, both [texts, tokens]."""
        places = self._fixed["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = self._fixed["embeddings.token_type_embeddings.weight"][0]
        words = functional.embedding(ids, self._fixed["embeddings.word_embeddings.weight"])
        x = self._drop(self._norm("embeddings.LayerNorm", words + places + kind))
        bias = torch.zeros(mask.shape).masked_fill(~mask, MASKED)[:, None, None, :]
        for layer in self._recipe.layers:
            x = self._layer(f"encoder.layer.{layer}.", x, bias)
        return self.head(self._drop(self._pooled(x, mask[..., None])))

    def _layer(self, name: str, x: Tensor, bias: Tensor) -> Tensor:
        texts, tokens, width = x.shape

        def by_head(part: str) -> Tensor:
            values = self._linear(f"{name}attention.self.{part}", x)
            return values.view(texts, tokens, HEADS, width // HEADS).transpose(1, 2)

        dropped = self._recipe.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            by_head("query"), by_head("key"), by_head("value"), attn_mask=bias, dropout_p=dropped
        )
        mixed = self._linear(f"{name}attention.output.dense", attended.transpose(1, 2).reshape(texts, tokens, width))
        x = self._norm(f"{name}attention.output.LayerNorm", x + self._drop(mixed))
        wide = functional.gelu(self._linear(f"{name}intermediate.dense", x))
        return self._norm(f"{name}output.LayerNorm", x + self._drop(self._linear(f"{name}output.dense", wide)))

    def _pooled(self, x: Tensor, mask: Tensor) -> Tensor:
        if self._recipe.pooling == "first":
            return x[:, 0]
        if self._recipe.pooling == "max":
            return x.masked_fill(~mask, MASKED).amax(1)
        return (x * mask).sum(1) / mask.sum(1)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        frozen = functional.linear(x, self._fixed[f"{name}.weight"], self._fixed[f"{name}.bias"])
        down, up = self.down[_key(name)], self.up[_key(name)]
        return frozen + functional.linear(functional.linear(x, down), up)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self._fixed[f"{name}.weight"], self._fixed[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, EPSILON)

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self._recipe.dropout, self.training)


def _key(name: str) -> str:
    """A name without dots, which torch keeps for itself."""
    return name.replace(".", "/")


def fit_encoder(
    recipe: EncoderRecipe,
    pretrained: Weights,
    texts: Sequence[Sequence[int]],
    labels: NDArray[np.int64],
    classes: int,
    *,
    half_precision: bool,
    on_share: Callable[[float], object],
) -> Tensors:
    """The update and head of ``recipe`` for texts as token ids; ``on_share`` hears of the share that is done.

    A fixed number of passes, so that nothing is chosen by looking at any score. ``half_precision`` computes products
    in bfloat16, which is more than twice as fast on CPUs that have it, and slow on others.
    """
    torch.manual_seed(recipe.seed)
    rng = np.random.Generator(np.random.PCG64(recipe.seed))
    seen = np.sort(rng.permutation(len(texts))[: math.ceil(recipe.texts_frac * len(texts))])
    texts, labels = [texts[index] for index in seen], labels[seen]
    model = TunedEncoder(recipe, pretrained, classes).train()
    steps = recipe.epochs * math.ceil(len(texts) / recipe.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.learning_rate, total_steps=steps + 1, pct_start=_WARM_UP_FRAC
    )
    targets = torch.from_numpy(labels)
    batches = (batch for _ in range(recipe.epochs) for batch in _batches(texts, recipe.batch_size, rng))
    for step, batch in enumerate(batches, start=1):
        ids, mask = _padded([texts[index] for index in batch])
        with torch.autocast("cpu", torch.bfloat16, enabled=half_precision):
            logits = model(ids, mask)
        loss = functional.cross_entropy(logits.float(), targets[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_GRADIENT)
        optimizer.step()
        schedule.step()
        on_share(step / steps)
    learned: Tensors = model.delta()
    return learned


def _batches(texts: Sequence[Sequence[int]], size: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """One pass over all texts in batches of texts of about one length, in random order."""
    order = rng.permutation(len(texts))
    lengths = np.array([len(text) for text in texts])
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), size * _BATCHES_SORTED):
        chunk = order[start : start + size * _BATCHES_SORTED]
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        batches += [chunk[first : first + size] for first in range(0, len(chunk), size)]
    for index in rng.permutation(len(batches)):
        yield batches[index]


def _padded(texts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Token ids and which of them are no padding, both [texts, longest]."""
    ids = torch.zeros(len(texts), max(map(len, texts)), dtype=torch.int64)
    mask = torch.zeros(ids.shape, dtype=torch.bool)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = True
    return ids, mask
