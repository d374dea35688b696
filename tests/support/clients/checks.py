"""Runs the checks of a client and prints, as JSON, by name what went wrong, null where nothing did."""

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Check = Callable[[], Awaitable[None]]


async def now(value: Any) -> Any:
    """What a call gives, whether its client is asynchronous or not."""
    return await value if inspect.isawaitable(value) else value


async def refused(call: Callable[[], Any], *words: str) -> None:
    """Raise AssertionError unless the call raises with these words in its message."""
    try:
        given = await now(call())
    except Exception as error:
        told = str(error)
    else:
        raise AssertionError(f"nothing was raised; it gave {given!s:.300}")
    missing = [word for word in words if word not in told]
    assert not missing, f"{missing} not in {told:.500}"


async def report(checks: Mapping[str, Check]) -> None:
    """Run one after the other."""
    told = {}
    for name, check in checks.items():
        try:
            await asyncio.wait_for(check(), 60)
            told[name] = None
        except Exception:
            told[name] = traceback.format_exc()[-1500:]
    sys.stdout.write(json.dumps(told) + "\n")
