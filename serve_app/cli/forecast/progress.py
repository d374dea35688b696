"""How far a training is: a bar where a person looks on, a line now and then in a log."""

from types import TracebackType

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from serve_app.cli.console import ERR

LINES = 20
"""In a log, of a whole training."""


class TrainingProgress:
    """Shows on standard error what a fit reports; ``resumed_at`` is how many steps there were before, 0 for none."""

    def __init__(self, name: str) -> None:
        self.resumed_at = 0
        self._name = name
        self._told = -1
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, TimeRemainingColumn(), console=ERR, disable=not ERR.is_terminal)
        self._shown = self._bar.add_task(f"Training {name}", total=None)

    def __enter__(self) -> "TrainingProgress":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def resumed(self, done: int, total: int) -> None:
        """See `forecast.forecaster.Fitting`."""
        self.resumed_at = done
        ERR.print(Text(f"goes on at step {done} of {total}"))

    def report(self, done: int, total: int, loss: float) -> None:
        """See `forecast.forecaster.Fitting`."""
        text = f"Training {self._name}, loss {loss:.3g}"
        if ERR.is_terminal:
            self._bar.update(self._shown, description=text, completed=done, total=total)
        elif done * LINES // total != self._told or done == total:
            ERR.print(Text(f"{text}: step {done} of {total}"), soft_wrap=True)
        self._told = done * LINES // total
