"""The ``accord`` command, whose subcommands are imported when they are asked for: all of them together take seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from serve_app.cli.console import exit_codes
from serve_app.cli.credentials import ApiKeyFile, use_key_file

PASSED_ON = {"add_help_option": False, "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}
"""Of a command whose arguments another program reads."""


@dataclass(frozen=True)
class Subcommand:
    """Where a function or a group of them is, as ``module:name``, and the first sentence of its help."""

    path: str
    help: str
    settings: Mapping[str, Any] | None = None

    def load(self, name: str) -> Any:
        """The command itself, under this name."""
        module, _, attribute = self.path.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            group = get_group(found)
            group.name = name
            return group
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name, **(self.settings or {}))(found)
        return get_command(alone)


SUBCOMMANDS: Mapping[str, Subcommand] = {
    "query": Subcommand(
        "serve_app.cli.query:query",
        "Send one query and print the answer, the variant that gave it, and whether it met its deadline.",
    ),
    "load": Subcommand(
        "serve_app.cli.load:load",
        "Send queries at their own instants, whatever the server does, and report latency, accuracy and variants.",
    ),
    "status": Subcommand(
        "serve_app.cli.status.command:status", "Show endpoints, the variants that answer them, and workers."
    ),
    "chaos": Subcommand(
        "serve_app.cli.chaos:chaos",
        "List experiments that kill, hang or starve parts of a service, run them, and report what became of queries.",
        PASSED_ON,
    ),
    "register": Subcommand(
        "serve_app.cli.variants.register:register",
        "Measure variants on every pool of a running server, and let it plan with them from then on.",
    ),
    "unregister": Subcommand(
        "serve_app.cli.variants.unregister:unregister",
        "Let a running server plan without variants that were registered; those of its config stay.",
    ),
    "profile": Subcommand(
        "serve_app.cli.profile:profile", "Measure latency per batch size, print it, and keep it for `serve run`."
    ),
    "evaluate": Subcommand(
        "serve_app.cli.evaluate.command:evaluate",
        "Run labelled data through every variant of a task; the catalogue has the measured accuracies from then on.",
    ),
    "run": Subcommand(
        "serve_app.cli.run.command:run",
        "Measure the variants and make their tables once, serve them in high-throughput mode, and print how to query.",
    ),
    "env": Subcommand(
        "serve_app.cli.run.environment:env",
        'Print, for a shell, what every node of a Ray cluster needs in its environment: eval "$(accord env)".',
    ),
    "init": Subcommand(
        "serve_app.cli.init.command:init",
        "Write a project: two Python classes that serve a task, or a config for models that you have.",
    ),
    "plan": Subcommand(
        "serve_app.cli.plan.command:plan", "Show the plan in force, compare plans, or plan for other loads."
    ),
    "forecast": Subcommand(
        "serve_app.cli.forecast.command:forecast",
        "Train forecasters on a history of load, and score them on another.",
    ),
    "interference": Subcommand(
        "serve_app.cli.interference.command:interference",
        "Measure how much variants slow each other down on one machine, and learn to predict it.",
    ),
}


class Subcommands(TyperGroup):
    """`SUBCOMMANDS` as a group: the list of them knows their help, and the one that runs is imported."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = {name: TyperCommand(name, help=each.help) for name, each in SUBCOMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """As click has it, with the command itself."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, SUBCOMMANDS[name].load(name) if name is not None else listed, rest


app = typer.Typer(cls=Subcommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"accord {version('accord')}")
        except PackageNotFoundError:
            typer.echo("accord, run from its source without being installed")
        raise typer.Exit


@app.callback()
def accord(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    api_key_file: ApiKeyFile = None,
) -> None:
    """Query, load and watch a server of interchangeable model variants."""
    with exit_codes(as_json=False):
        use_key_file(api_key_file)


if __name__ == "__main__":
    app()
