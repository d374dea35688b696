"""Chaos Toolkit's journal of an experiment, as far as reports read it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from catalog.errors import ConfigError

OUTCOME = "outcome"
"""Function of the probe whose output has the figures."""

INTERRUPTED = "interrupted"
"""In the configuration of an experiment: why it was not begun, though it can be run here."""

SERIES = ("sent", "answered", "violated", "failed", "judged", "right")
"""Of the figures, a number of queries per window."""


@dataclass(frozen=True)
class Journal:
    """One run. ``content`` is the journal as Chaos Toolkit has it."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Journal":
        """Of a file, or of the folder that has it; raises `ConfigError` where it cannot be read or lacks something."""
        file = path / "journal.json" if path.is_dir() else path
        try:
            journal = cls(orjson.loads(file.read_bytes()))
            journal._check()
        except OSError as error:
            raise ConfigError(
                f"cannot read journal {file}: {error.strerror}; give the folder of an experiment's results"
            ) from error
        except KeyError as error:
            raise ConfigError(
                f"{file} is no journal of Chaos Toolkit that can be reported: {error} is missing"
            ) from error
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise ConfigError(f"{file} is no journal of Chaos Toolkit that can be reported: {error}") from error
        return journal

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Journal":
        """Of what Chaos Toolkit gives, which may hold values that JSON has not."""
        return cls(orjson.loads(orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)))

    def as_json(self) -> bytes:
        """What `read` reads."""
        return orjson.dumps(self.content, option=orjson.OPT_INDENT_2)

    @property
    def title(self) -> str:
        """Of the experiment."""
        return str(self.content["experiment"]["title"])

    @property
    def skipped(self) -> str | None:
        """Why the experiment cannot be run here, None where it can."""
        for name, value in self.content["experiment"].get("configuration", {}).items():
            if name == "skipped" and value:
                return str(value)
        return None

    @property
    def verdict(self) -> str:
        """``held``, ``deviated`` where the hypothesis did not hold afterwards, ``skipped``, else how the run ended.

        ``failed`` too where the hypothesis held and a rollback failed.
        """
        if self.skipped is not None:
            return "skipped"
        if self.content.get("deviated"):
            return "deviated"
        before = (self.content.get("steady_states") or {}).get("before") or {}
        if before and not before.get("steady_state_met"):
            return "not steady before"
        if any(run.get("status") == "failed" for run in self.content.get("run", ())):
            return "failed"
        status = str(self.content["status"])
        if status != "completed":
            return status
        rolled_back = all(run.get("status") != "failed" for run in self.content.get("rollbacks", ()))
        return "held" if rolled_back else "failed"

    @property
    def figures(self) -> dict[str, Any] | None:
        """The outcome of the load, None where there is none."""
        for run in self.content.get("run", ()):
            if run["activity"].get("provider", {}).get("func") == OUTCOME and isinstance(run.get("output"), dict):
                return dict(run["output"])
        return None

    @property
    def probed_after(self) -> tuple[Mapping[str, Any], ...]:
        """Runs of the hypothesis' probes after the fault, up to the first that did not hold."""
        states = self.content.get("steady_states") or {}
        return tuple((states.get("after") or {}).get("probes", ()))

    def hypothesis(self) -> Iterator[tuple[str, Any, Any, Any]]:
        """By probe of the hypothesis its name, its tolerance, and its outputs before and after."""
        states = self.content.get("steady_states") or {}
        after = {each["activity"]["name"]: each for each in self.probed_after}
        for probe in (states.get("before") or {}).get("probes", ()):
            name = probe["activity"]["name"]
            yield name, probe["activity"].get("tolerance"), probe.get("output"), after.get(name, {}).get("output")

    def problems(self) -> Iterator[str]:
        """Why it was not begun, and why activities of the method and the rollbacks failed.

        None of the latter did where there was nothing to undo.
        """
        if self.skipped is not None:
            return
        if why := self.content["experiment"].get("configuration", {}).get(INTERRUPTED):
            yield str(why)
        for run in (*self.content.get("run", ()), *self.content.get("rollbacks", ())):
            if run.get("status") == "failed":
                yield f"{run['activity']['name']}: {(run.get('exception') or ['?'])[-1]}".strip()

    def _check(self) -> None:
        """Read all that reports read; raises as these do (KeyError, TypeError and the like) for what is not there."""
        _ = self.title, self.verdict, list(self.hypothesis()), list(self.problems())
        figures = self.figures
        if figures is None:
            return
        _ = [float(figures[name]) for name in ("load_qps", "seconds", "slo_ms")], figures["errors"].items()
        _ = [(float(mark["at_s"]), mark["text"], mark["fault"]) for mark in figures["marks"]]
        series = figures["series"]
        if not float(series["window_s"]) > 0:
            raise ValueError(f"window_s is {series['window_s']}")
        rows = {name: [float(value) for value in series[name]] for name in SERIES}
        if len({len(values) for values in rows.values()}) != 1 or not rows["sent"]:
            raise ValueError(f"series of {', '.join(SERIES)} are not equally long, or empty")
