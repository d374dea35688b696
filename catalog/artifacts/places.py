"""Whether a path or URL lies in a folder or under a URL, however it is written."""

from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

LOCAL = ("file", "local")
PORTS = {"http": 80, "https": 443}


def within(place: str, allowed: str) -> bool:
    """Whether an absolute path, or a URL, is ``allowed`` or lies in it; links are followed to where they lead.

    A URL that could be read in several ways (a dot segment, a backslash, user information, a chain of fsspec's) lies
    nowhere.
    """
    path, folder = local_path(place), local_path(allowed)
    if path is not None and folder is not None:
        return _within_folder(path, folder)
    if path is not None or folder is not None:
        return False
    try:
        one, other = urlsplit(place), urlsplit(allowed)
        same = _origin(one) == _origin(other)
    except ValueError:  # no port, or brackets that do not close
        return False
    if not same or not _plain(place, one):
        return False
    inside, prefix = unquote(one.path), unquote(other.path).rstrip("/")
    return inside == prefix or inside.startswith(f"{prefix}/")


def local_path(place: str) -> Path | None:
    """The path that a place on this machine has; None for a remote one."""
    scheme, found, rest = place.partition("://")
    if not found:
        return Path(place)
    return Path(rest) if scheme in LOCAL else None


def _within_folder(path: Path, folder: Path) -> bool:
    try:
        return path.is_absolute() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, a zero byte, a name that is too long
        return False


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


def _plain(written: str, url: SplitResult) -> bool:
    path = unquote(url.path)
    doubtful = "\\" in path or "%" in path or any(part in (".", "..") for part in path.split("/"))
    odd = any(ord(character) < 0x21 or ord(character) == 0x7F for character in written + path)
    return not (doubtful or odd or "::" in written.replace("[::", "[") or "@" in url.netloc or url.fragment)
