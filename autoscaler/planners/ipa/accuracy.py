"""What a pipeline's accuracy is in the objective (section 4.1), and two better definitions."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf, log

from autoscaler.planners.ipa.problem import Accuracy, PipelineProblem, StageProblem
from catalog.errors import ConfigError


@dataclass(frozen=True)
class PipelineAccuracy:
    """By stage and variant what is added up, and by combination of variants what was measured, where that counts.

    A variant without an entry is not eligible, and neither is a combination. ``combinations`` is None where stages add
    up.
    """

    by_stage: Mapping[str, Mapping[str, float]]
    combinations: Mapping[tuple[str, ...], float] | None = None


def accuracy_of(pipeline: PipelineProblem, definition: Accuracy) -> PipelineAccuracy:
    """The accuracies of all variants of a pipeline, eligible or not at its load.

    Raises `ConfigError` where measured accuracies are asked for and no combination of the pipeline's variants has one,
    and where the product of accuracies is asked for and all variants of a stage have an accuracy of 0.
    """
    if definition == "measured":
        return _measured(pipeline)
    if definition == "product":
        return PipelineAccuracy({stage.name: _logarithms(pipeline.name, stage) for stage in pipeline.stages})
    return PipelineAccuracy({stage.name: ranks(stage) for stage in pipeline.stages})


def ranks(stage: StageProblem) -> dict[str, float]:
    """0 for the least accurate variant to 1 for the most accurate, in equal steps (section 4.1).

    Variants of equal accuracy share a rank and take one step together; where all are alike each counts 1.
    """
    accuracies = sorted({option.candidate.accuracy for option in stage.options})
    steps = {accuracy: number / (len(accuracies) - 1) for number, accuracy in enumerate(accuracies[:-1])}
    return {option.candidate.variant: steps.get(option.candidate.accuracy, 1.0) for option in stage.options}


def share_of_right_answers(definition: Accuracy, accuracy: float) -> float | None:
    """An accuracy of the objective as a number from 0 to 1; None for ranks, which say nothing of it."""
    if definition == "rank":
        return None
    return exp(accuracy) if definition == "product" else accuracy


def _logarithms(pipeline: str, stage: StageProblem) -> dict[str, float]:
    found = {
        option.candidate.variant: log(option.candidate.accuracy)
        for option in stage.options
        if option.candidate.accuracy > 0
    }
    if not found:
        raise ConfigError(
            f"pipeline {pipeline!r}: all variants of stage {stage.name!r} have an accuracy of 0, whose logarithm is "
            f"{-inf}; give the accuracies that they were measured with, or rank them (accuracy: rank)"
        )
    return found


def _measured(pipeline: PipelineProblem) -> PipelineAccuracy:
    variants = [{option.candidate.variant for option in stage.options} for stage in pipeline.stages]
    eligible = {
        combination: accuracy
        for combination, accuracy in pipeline.measured_accuracy.items()
        if all(variant in own for variant, own in zip(combination, variants, strict=True))
    }
    if not eligible:
        raise ConfigError(
            f"pipeline {pipeline.name!r}: measured accuracies are asked for, and its table has "
            f"{len(pipeline.measured_accuracy)} combinations, none of the variants that are there; measure "
            "the pipeline, or take another definition of accuracy (rank or product)"
        )
    by_stage = {
        stage.name: {combination[number]: 0.0 for combination in eligible}
        for number, stage in enumerate(pipeline.stages)
    }
    return PipelineAccuracy(by_stage, eligible)
