"""An endpoint whose queries are voted on, in virtual time."""

from collections import Counter

import numpy as np
import pytest

from dispatch.dispatcher import Dispatcher
from ensemble_scene import LATENCY_S, MEMBERS, SaidChooser, ask, flow, nothing_is_left, one_wave, plan, refused, scene
from simulator.host import Host
from simulator.latency import PlannedLatency
from simulator.metrics import Metrics
from simulator.reporting.report import Report


def test_every_member_runs_every_query_at_the_same_time() -> None:
    ensemble = flow(one_wave(*MEMBERS))
    made = plan(ensemble)
    host = Host(made, dict.fromkeys(MEMBERS, "cpu"), PlannedLatency(made.endpoints["e"]))
    record = host.run({"e": np.array([0.0, 0.002, 0.050])})
    batches = record.batches
    ran = Counter((batches.variants[v], at_s) for v, at_s in zip(batches.variant, batches.launched_s, strict=True))
    assert ran == Counter((member, at_s) for member in MEMBERS for at_s in (0.0, LATENCY_S, 0.050))
    assert batches.jobs.tolist() == [1] * 9
    assert ensemble.open_queries == 0


def test_members_that_say_nothing_have_failed() -> None:
    """Simulated variants have no outputs unless somebody gives them some."""
    chooser = SaidChooser(one_wave(*MEMBERS))
    ensemble = flow(chooser)
    d: Dispatcher = scene(ensemble)
    ask(d)
    ended = []
    for member in MEMBERS:
        batch = d.workers[member].batch
        assert batch is not None
        ended.append(refused(d.on_done(member, batch.id, (), LATENCY_S, LATENCY_S)))
    assert [[kind.__name__ for kind in each.values()] for each in ended] == [[], [], ["VariantFailed"]]
    assert chooser.votes == []
    assert nothing_is_left(d, ensemble)


def test_metrics_and_report_have_the_accuracy_of_votes() -> None:
    made = plan(flow(one_wave(*MEMBERS, accuracy=0.9)))
    host = Host(
        made,
        dict.fromkeys(MEMBERS, "cpu"),
        PlannedLatency(made.endpoints["e"]),
        outputs=lambda batch: [{"label": np.array([1])}] * len(batch.jobs),
    )
    record = host.run({"e": np.array([0.0, 0.050])})
    assert record.done_s - record.arrival_s == pytest.approx([LATENCY_S, LATENCY_S])
    assert Metrics.of(record).effective_accuracy_pct == pytest.approx(90.0)
    report = Report.of(record, interval_s=1.0).endpoints["e"]
    assert (report.refused, report.violation_pct) == (0, 0.0)
    assert report.accuracy_pct == pytest.approx(90.0)
    assert report.series.accuracy_pct == [pytest.approx(90.0)]
