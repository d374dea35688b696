"""Addresses that a command is going to listen on, held against other commands: it begins to listen long after."""

import socket
import sys
from contextlib import ExitStack


def hold(address: str, held: ExitStack) -> bool:
    """Whether no other command holds the address; then this one does until the stack is closed, or its process ends.

    By a name in Linux's abstract namespace, which belongs to a network as ports do and leaves no file behind;
    elsewhere nothing is held.
    """
    if sys.platform != "linux":
        return True
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0accord-listens-{address}")
    except OSError:
        name.close()
        return False
    held.enter_context(name)
    return True
