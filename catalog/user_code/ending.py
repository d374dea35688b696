"""What code of the user's may raise beside exceptions."""

import asyncio

ENDING = (SystemExit, asyncio.CancelledError, GeneratorExit)
"""What ends a thread or an event loop that nobody keeps from it."""
