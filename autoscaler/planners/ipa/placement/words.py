"""What limits a plan whose workers hold several stages, in words."""

from collections.abc import Sequence

from autoscaler.planners.ipa.placement.colocation import Shared
from autoscaler.planners.ipa.placement.cover import Cover
from autoscaler.planners.ipa.problem import PipelineProblem


def words_on_sharing(problems: Sequence[PipelineProblem], shared: Shared) -> tuple[str, ...]:
    """Why workers share, how busy that makes them, and whether answers are in time."""
    stages = sum(len(problem.stages) for problem in problems)
    workers = ", ".join(f"{number} of {device}" for device, number in sorted(shared.devices.items()))
    lines = [
        f"{stages} stages share all workers ({workers}), which hold a variant of each: with so few, one worker "
        f"for each replica bears less. They are busy {shared.busy:.0%} of the time, and a batch may wait "
        f"{shared.beside_s:.3g} s for another stage's."
    ]
    for problem in problems:
        own = shared.pipelines[problem.name]
        if shared.served < 1 and problem.load_qps > 0:
            lines.append(
                f"{problem.name}: {shared.served:.1%} of {problem.load_qps:.3g} queries/s can be borne in time, "
                "no choice of variants and batches bears more."
            )
        if own.latency_s > problem.slo_s * (1 + 1e-5):
            lines.append(
                f"{problem.name} cannot be answered within {problem.slo_s:.3g} s at worst: its fastest choice takes "
                f"{own.latency_s:.3g} s with these waits."
            )
        else:
            lines.append(f"{problem.name}: {own.latency_s:.3g} s of {problem.slo_s:.3g} s at worst.")
    return tuple(lines)


def words_on_cover(cover: Cover) -> tuple[str, ...]:
    """What is held by nobody, and what the rest bears."""
    missing = [f"{key.endpoint}, {key.stage}" if key.stage else key.endpoint for key in cover.missing]
    lines = [
        f"No worker has memory for a variant of {each} beside what it holds: give workers more." for each in missing
    ]
    if cover.active:
        lines.append(
            f"Workers hold the smallest variants, as many as fit, and run one row at a time: "
            f"that bears {cover.served:.1%} of the load."
        )
    return tuple(lines)
