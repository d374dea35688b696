"""``accord plan``: what the planner decided, what changed, and what it would decide."""

import asyncio
import math
from typing import Annotated, Any

import orjson
import typer

from autoscaler.cluster.plan_difference import difference
from autoscaler.cluster.plan_record import from_record
from catalog.errors import ConfigError
from serve_app.cli.call import CallFailed, get_object, post_object
from serve_app.cli.console import OUT, exit_codes, print_json
from serve_app.cli.options import DEFAULT_URL, AsJson, Url
from serve_app.cli.plan.tables import render_difference, render_plan, render_simulation
from serve_app.loadgen.endpoint import base_url

TIMEOUT_S = 10.0
SIMULATE_TIMEOUT_S = 40.0
"""Above what the server itself waits for its controller, so that people read the server's words."""

LASTING = ("in force", "replaced")
"""States of decisions that came into force."""

plan = typer.Typer(no_args_is_help=True, help="Show the plan in force, compare plans, or plan for other loads.")


@plan.command()
def show(url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show who holds what, who gets which share, what it costs, what limits it, and why it was made."""
    with exit_codes(as_json):
        body = _get(url, "plan")
        if as_json:
            print_json(body)
        else:
            OUT.print(render_plan(body))


@plan.command()
def diff(
    from_version: Annotated[
        int | None, typer.Option("--from", help="Version of the older plan; default: the one before the newer.")
    ] = None,
    to_version: Annotated[
        int | None, typer.Option("--to", help="Version of the newer plan; default: the newest that came into force.")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show what changed from one plan to another."""
    with exit_codes(as_json):
        before, after = _pair(_get(url, "plans")["plans"], from_version, to_version)
        changed = difference(from_record(before["plan"]), from_record(after["plan"]))
        if as_json:
            versions = {"from": before["version"], "to": after["version"]}
            print_json(versions | {"difference": changed.to_record(), "lines": list(changed.lines())})
        else:
            OUT.print(render_difference(before, after, changed))


@plan.command()
def simulate(
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=QPS", help="Queries per second of an endpoint, as often as wanted; others keep theirs."
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show the plan that other loads would get, and how it differs from the one in force; nothing changes."""
    with exit_codes(as_json):
        load_qps = _loads(load or [])
        answer = _post(url, "plan/simulate", {"load_qps": load_qps})
        would, now = from_record(answer["plan"]), from_record(answer["now"]) if answer["now"] else None
        changed = None if now is None else difference(now, would)
        if as_json:
            print_json(answer | {"difference": None if changed is None else changed.to_record()})
        else:
            OUT.print(render_simulation(would, changed, _get(url, "plan")))


def _get(url: str, path: str) -> dict[str, Any]:
    server_url = base_url(url)
    return asyncio.run(get_object(f"{server_url}/accord/{path}", server_url, TIMEOUT_S))


def _post(url: str, path: str, content: dict[str, Any]) -> dict[str, Any]:
    server_url = base_url(url)
    body = orjson.dumps(content)
    return asyncio.run(post_object(f"{server_url}/accord/{path}", server_url, SIMULATE_TIMEOUT_S, body))


def _pair(
    decisions: list[dict[str, Any]], from_version: int | None, to_version: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The decisions to compare; raises `ConfigError` for versions that are not there or came to no plan."""
    lasting = [each for each in decisions if each["state"] in LASTING and each["plan"]]
    if to_version is not None:
        after = _of_version(decisions, to_version, "--to")
    elif lasting:
        after = lasting[-1]
    else:
        raise CallFailed("no plan has come into force yet; try again in a few seconds")
    if from_version is not None:
        return _of_version(decisions, from_version, "--from"), after
    earlier = [each for each in lasting if each["version"] < after["version"]]
    if not earlier:
        raise CallFailed(f"no plan came into force before version {after['version']}: there is nothing to compare with")
    return earlier[-1], after


def _of_version(decisions: list[dict[str, Any]], version: int, option: str) -> dict[str, Any]:
    for decision in decisions:
        if decision["version"] == version:
            if not decision["plan"]:
                why = f", because {decision['why_not']}" if decision.get("why_not") else ""
                raise ConfigError(f"{option} {version}: that decision has no plan, it is {decision['state']}{why}")
            return decision
    known = ", ".join(str(each["version"]) for each in decisions if each["plan"])
    raise ConfigError(f"{option} {version}: the server remembers no such version; it has {known or 'none'}")


def _loads(given: list[str]) -> dict[str, float]:
    """``NAME=QPS`` each; raises `ConfigError` for what is no load."""
    if not given:
        raise ConfigError("no load is given; give at least one, as in --load digits=200")
    loads: dict[str, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if not equals or not name:
            raise ConfigError(f"--load {text!r}; write it as NAME=QPS, as in --load digits=200")
        try:
            qps = float(number)
        except ValueError:
            qps = math.nan
        if not 0 <= qps < math.inf:
            raise ConfigError(f"--load {text!r}: {number!r} is no load; give a number of queries per second from 0")
        if name in loads:
            raise ConfigError(f"--load {name!r} is given twice, as {loads[name]:g} and {qps:g}; give it once")
        loads[name] = qps
    return loads
