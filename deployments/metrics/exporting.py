"""Metrics of Ray are set anew again and again, whatever goes wrong now and then."""

import asyncio
import logging
from collections.abc import Callable

logger = logging.getLogger("ray.serve")

EXPORT_EVERY_S = 1.0


async def keep_exporting(export: Callable[[], None], what: str, every_s: float = EXPORT_EVERY_S) -> None:
    """Call ``export`` again and again until cancelled; ``what`` it exports is for the log where it fails."""
    while True:
        await asyncio.sleep(every_s)
        try:
            export()
        except Exception:
            logger.exception("%s could not be exported as metrics.", what)
