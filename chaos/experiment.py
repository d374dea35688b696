"""The experiments that come with Accord, and running them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from chaoslib.exceptions import ActivityFailed
from chaoslib.experiment import ensure_experiment_is_valid, run_experiment

from catalog.errors import ConfigError
from chaos.probes.service import restored
from chaos.report.folder import REPORT, emptied, write_results
from chaos.report.journal import Journal
from chaos.services.start import Choice
from chaos.trial import trial
from chaos.trial.bench import Bench, bench

SETTLED_WITHIN_S = 60.0
ON_ANY = "any-service"
FOLDER = Path(__file__).with_name("experiments")
SETTINGS = {"runtime": {"rollbacks": {"strategy": "always"}, "hypothesis": {"strategy": "default"}}}


@dataclass(frozen=True)
class Experiment:
    """A file of Chaos Toolkit. One with the tag `ON_ANY` can be run on a service of the user's own."""

    name: str
    path: Path
    title: str
    service: str
    tags: tuple[str, ...]

    def run(self, results: Path, variables: Mapping[str, Any] | None = None, on: Choice | None = None) -> Journal:
        """Run it, as ``chaos run`` does, with journal, report and picture in the folder ``results``.

        ``variables`` replace values of its ``configuration``, ``on`` the service that it names. Raises `ConfigError`
        for variables that it has not, for a service that it cannot be run on, and where ``results`` cannot be written;
        OSError where it can be no longer at the end.
        """
        document = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        ensure_experiment_is_valid(document)
        configuration = document["configuration"]
        given = {**(variables or {}), "results": str(results)}
        own = [name for name in configuration if name not in ("service", "results")]
        if unknown := sorted(set(variables or {}) - set(own)):
            raise ConfigError(f"experiment {self.name!r} has no variable {unknown[0]!r}; it has {', '.join(own)}")
        if on is not None:
            if ON_ANY not in self.tags:
                raise ConfigError(
                    f"experiment {self.name!r} needs its own service {self.service!r}; on another one run "
                    f"{', '.join(name for name, each in experiments().items() if ON_ANY in each.tags)}"
                )
            configuration |= {name: value for name, value in asdict(on).items() if value is not None}
        emptied(results)
        content = run_experiment(document, settings=_settings(), experiment_vars=(given, {}))
        if not (results / REPORT).exists():  # Chaos Toolkit swallows what the control's writing raised
            write_results(content, results)
        return Journal.of(content)


def experiments() -> dict[str, Experiment]:
    """All of them by name, in the order of their names."""
    found = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        service = document["configuration"]["service"]
        found[path.stem] = Experiment(path.stem, path, document["title"], service, tuple(document["tags"]))
    return found


def experiment(name: str) -> Experiment:
    """The one of that name; raises `ConfigError` naming those that there are."""
    found = experiments()
    if name not in found:
        raise ConfigError(f"experiment {name!r} is unknown; the experiments are {', '.join(found)}")
    return found[name]


@contextmanager
def shared_service(name: str) -> Iterator[Bench]:
    """Experiments of the block that need this service use one, instead of a new one each.

    Raises RuntimeError where it does not start.
    """
    choice = Choice(name)
    with bench(choice) as shared:
        trial.share(choice, shared)
        try:
            yield shared
        finally:
            trial.share(choice, None)


def settled(shared: Bench, within_s: float = SETTLED_WITHIN_S) -> bool:
    """Wait until all parts of a shared service are there and it is ready; False where that takes too long."""
    trial.begin(Choice(shared.service.name))
    try:
        restored(within_s)
    except ActivityFailed:
        return False
    finally:
        trial.end()
    return True


def by_service(chosen: Iterable[Experiment]) -> dict[str, list[Experiment]]:
    """Experiments by the service that they need, in the order given."""
    found: dict[str, list[Experiment]] = {}
    for each in chosen:
        found.setdefault(each.service, []).append(each)
    return found


def _settings() -> dict[str, Any]:
    return {key: dict(value) for key, value in SETTINGS.items()}
