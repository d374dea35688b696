"""The benchmark of lengths: every way answers every text alike, and padding is what differs."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from benchmarks.lengths import worker
from benchmarks.lengths.__main__ import _medians, _over
from benchmarks.lengths.host import ClockHost
from benchmarks.lengths.load import Played, play_full, play_rate
from benchmarks.lengths.model import POSITIONS, TEXT, token_counts, write_model
from benchmarks.lengths.texts import read_texts, sentences
from benchmarks.lengths.ways import BUCKETS, MAXIMUM, Way
from catalog.lengths import Lengths
from catalog.profiles.profile import BatchLatency, LatencyProfile
from deployments.runtimes.transformers_runtime import TransformersRuntime

TEXTS = ("one", "two words", "a sentence of six words here", "and one that is by far the longest of them all here")
SLO_S = 60.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tokenizer]:
    folder = tmp_path_factory.mktemp("lengths")
    return folder, write_model(folder, TEXTS, 0)


@pytest.fixture(scope="module")
def lengths(model: tuple[Path, Tokenizer]) -> Lengths:
    return Lengths(longest=max(len(model[1].encode(text).ids) for text in TEXTS), typical=6)


@pytest.fixture
def own_thread() -> Iterator[Executor]:
    """What runs batches, in this process."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


def way(name: str, thread: Executor, lengths: Lengths) -> Way:
    by_rows = {rows: BatchLatency(10, rows, 0, rows, rows, rows, rows) for rows in (1, 4)}
    profile = LatencyProfile.of_lengths("cpu", 6, {6: by_rows, lengths.longest: by_rows})
    return Way(name, thread, profile, lengths, 4, 0.25 if name == BUCKETS else None)


@pytest.mark.parametrize("kind", [TransformersRuntime, worker.ToMaximum])
def test_padding_to_the_maximum_changes_the_size_of_a_batch_and_no_answer(
    kind: type[TransformersRuntime], model: tuple[Path, Tokenizer], lengths: Lengths, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.load(kind, model[0], lengths)
    (runtime,) = worker._loaded
    sizes: list[int] = []
    forward = type(runtime._model).forward
    monkeypatch.setattr(
        type(runtime._model),
        "forward",
        lambda self, input_ids, **rest: sizes.append(input_ids.shape[1]) or forward(self, input_ids, **rest),
    )
    ran = worker.run({TEXT: np.array(TEXTS[:2], object)})
    assert sizes == [lengths.longest if kind is worker.ToMaximum else len(model[1].encode(TEXTS[1]).ids)]
    monkeypatch.undo()
    alone = [worker.run({TEXT: np.array([text], object)}).outputs["probabilities"][0] for text in TEXTS[:2]]
    np.testing.assert_allclose(ran.outputs["probabilities"], alone, atol=1e-5)
    assert ran.run_s > 0
    assert ran.cpu_s >= 0


def test_a_text_of_more_tokens_than_the_model_takes_is_cut(model: tuple[Path, Tokenizer]) -> None:
    folder, tokenizer = model
    long = " ".join(["words"] * 2 * POSITIONS)
    counts = token_counts(tokenizer, (TEXTS[0], long))
    assert counts == [len(tokenizer.encode(TEXTS[0]).ids), POSITIONS]
    worker.load(TransformersRuntime, folder, Lengths(longest=max(counts), typical=6))
    assert worker.run({TEXT: np.array([long], object)}).outputs["probabilities"].shape == (1, 2)


@pytest.mark.parametrize("name", [BUCKETS, MAXIMUM])
def test_all_texts_are_answered(
    name: str, model: tuple[Path, Tokenizer], lengths: Lengths, own_thread: Executor
) -> None:
    worker.load(TransformersRuntime, model[0], lengths)
    chosen = way(name, own_thread, lengths)
    at_once = asyncio.run(_all_at_once(chosen))
    assert len(at_once) == 4 * len(TEXTS)
    assert min(at_once) > 0
    played = asyncio.run(play_rate(chosen, SLO_S, TEXTS, 200.0, 0.1, 0))
    assert len(played.latency_s) == 20
    full = asyncio.run(play_full(chosen, SLO_S, TEXTS, 8, 0.2))
    assert full.throughput_qps > 0
    assert full.late_share == 0


async def _all_at_once(chosen: Way) -> list[float]:
    host = ClockHost(chosen.endpoint(SLO_S), chosen.worker)
    found = await asyncio.gather(*(host.ask(text) for text in TEXTS * 4))
    host.end()
    return found


def test_figures_of_a_play() -> None:
    played = Played(np.array([0.1, 0.2, 0.3, 0.4]), 2.0, 0.25, 1.0)
    assert (played.throughput_qps, played.texts_per_cpu_s, played.late_share) == (2.0, 4.0, 0.5)
    assert played.latency_ms(50) == pytest.approx(250)
    assert played.figures()["p50_ms"] == pytest.approx(250)


def test_ratios_are_of_the_same_round_and_of_those_the_median() -> None:
    def rounds(*seconds: float) -> list[Played]:
        return [Played(np.ones(6), each, 1.0, 1.0) for each in seconds]

    played = {BUCKETS: rounds(1.0, 2.0, 6.0), MAXIMUM: rounds(2.0, 6.0, 6.0)}
    assert _over(played, MAXIMUM, "throughput_qps") == pytest.approx(2.0)
    assert _medians(played[BUCKETS])["throughput_qps"] == pytest.approx(3.0)


def test_texts_are_the_sentences_of_pages_where_no_file_is_named() -> None:
    assert sentences("# A head\n\nA plain sentence here. And [one](x.md) with `code`.\n\n| a | table |\n") == [
        "A plain sentence here.",
        "And one with code.",
    ]
    assert len(read_texts(None)) > 500
