from dataclasses import replace
from io import StringIO

from rich.console import Console

from serve_app.loadgen.record import Record, Run
from serve_app.loadgen.render import BAR_WIDTH, render, share_bar
from serve_app.loadgen.report import summarise, tally


def shown(records: list[Record], duration_s: float = 3.0) -> str:
    out = StringIO()
    Console(file=out, width=100).print(render(summarise(Run(tuple(records), len(records), duration_s, False), 100.0)))
    return out.getvalue()


def record(intended_s: float, variant: str, lag_s: float = 0.0) -> Record:
    sent_s = intended_s + lag_s
    return Record(intended_s, sent_s, sent_s + 0.02, 200, variant, 0.9, True, True, None, None)


def test_a_person_sees_latency_accuracy_and_each_variant() -> None:
    text = shown([record(0.1 * n, "fast" if n > 15 else "slow") for n in range(30)])
    assert "p99 20.0" in text
    assert "100.0% on labelled queries, 90.0% expected" in text
    assert "fast" in text
    assert "slow" in text
    assert "█" * BAR_WIDTH in text
    assert "▓" * BAR_WIDTH in text
    assert "Warning" not in text
    assert "emulated" not in text


def test_a_person_sees_how_many_answers_were_emulated() -> None:
    text = shown([record(0.1, "slow"), replace(record(0.2, "slow"), emulated=True)])
    assert "1 answers: no model ran" in text


def test_a_person_is_warned_of_a_late_generator() -> None:
    assert "the load generator itself fell behind" in " ".join(shown([record(0.1, "slow", lag_s=0.5)]).split())


def test_a_run_of_failures_shows_their_words() -> None:
    refused = Record(0.0, 0.0, 0.001, 0, None, None, None, None, "connection_refused", "nothing listens at [port]")
    text = shown([refused])
    assert "connection_refused" in text
    assert "nothing listens at [port]" in text
    assert "Over time" not in text


def test_a_bar_keeps_its_length_however_the_shares_round() -> None:
    records = [record(0.0, name) for name in "aabbbccccddddd"]
    assert len(share_bar(tally(records, None), "abcd")) == BAR_WIDTH
    assert len(share_bar(tally([], None), "abcd")) == 0
