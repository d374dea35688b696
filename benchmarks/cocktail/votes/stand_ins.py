"""What is said of models that a file with accuracies by class lacks."""

from pathlib import Path

from rich.console import Console

from benchmarks.cocktail.models import MODELS
from benchmarks.cocktail.votes.class_accuracy import read_class_accuracy


def say_stand_ins(path: Path, console: Console) -> None:
    """Say which models of Table 1 the file has no classes of, and whose they have instead; raises `ConfigError`."""
    stand_ins = read_class_accuracy(path).stand_ins({model.name: model.accuracy for model in MODELS.values()})
    if stand_ins:
        listed = ", ".join(f"{name} has those of {other}" for name, other in stand_ins.items())
        console.print(f"{path.name} does not have the classes of all models: {listed}", style="dim", soft_wrap=True)
