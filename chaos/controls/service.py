"""Starts the service under test before an experiment, writes the report after it, and stops the service."""

from typing import Any

from chaoslib.exceptions import InterruptExecution
from chaoslib.types import Configuration, Experiment, Journal

from chaos.report.folder import write_results
from chaos.report.journal import INTERRUPTED
from chaos.services.start import Choice
from chaos.trial import trial

__all__ = ["after_experiment_control", "before_experiment_control", "cleanup_control"]


def before_experiment_control(context: Experiment, configuration: Configuration, **_: Any) -> None:
    """Start ``configuration.service`` and find what it carries; an experiment without it is interrupted.

    Why is kept in the experiment, and so in its journal: Chaos Toolkit itself only logs it.

    The service may be the path of a Serve config file; ``configuration`` may name an ``endpoint`` of it, and a
    ``dataset`` to send, then.
    """
    chosen = Choice(configuration["service"], configuration.get("endpoint"), configuration.get("dataset"))
    try:
        trial.begin(chosen)
    except InterruptExecution:
        raise
    except Exception as error:  # Chaos Toolkit goes on, without a service, after any other
        why = f"service {chosen.service!r} did not start: {error}"
        context.setdefault("configuration", {})[INTERRUPTED] = why
        raise InterruptExecution(why) from error


def after_experiment_control(context: Experiment, state: Journal, configuration: Configuration, **_: Any) -> None:
    """Write journal and report to ``configuration.results``, in a folder of the experiment's own."""
    write_results(state, configuration["results"])
    trial.end()


def cleanup_control() -> None:
    """Stop the service, also where the experiment was interrupted."""
    trial.end()
