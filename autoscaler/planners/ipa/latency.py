"""The longest way through a pipeline's stages."""

from collections.abc import Mapping, Sequence

from autoscaler.planners.ipa.problem import StageProblem


def completion_s(stages: Sequence[StageProblem], latency_s: Mapping[str, float]) -> dict[str, float]:
    """By stage when it is done, counted from the query's arrival; ``stages`` each stand behind their sources."""
    done_s: dict[str, float] = {}
    for stage in stages:
        done_s[stage.name] = max((done_s[source] for source in stage.after), default=0.0) + latency_s[stage.name]
    return done_s


def longest_path(stages: Sequence[StageProblem], latency_s: Mapping[str, float]) -> tuple[float, tuple[str, ...]]:
    """What the slowest path takes, and its stages in their order."""
    done_s = completion_s(stages, latency_s)
    after = {stage.name: stage.after for stage in stages}
    last = max(done_s, key=lambda name: done_s[name])
    total_s = done_s[last]
    path = [last]
    while after[path[-1]]:
        path.append(max(after[path[-1]], key=lambda name: done_s[name]))
    return total_s, tuple(reversed(path))


def remaining_s(stages: Sequence[StageProblem], latency_s: Mapping[str, float]) -> dict[str, float]:
    """By stage what the longest path of the stages behind it takes, itself not counted."""
    after_s = dict.fromkeys(latency_s, 0.0)
    for stage in reversed(stages):
        for source in stage.after:
            after_s[source] = max(after_s[source], after_s[stage.name] + latency_s[stage.name])
    return after_s
