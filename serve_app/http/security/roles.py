"""Which role a request needs."""

import re

from serve_app.http.security.caller import Role

READS = ("GET", "HEAD")

OPEN: frozenset[Role] = frozenset()
METADATA = frozenset({Role.INFER, Role.OBSERVE})
OBSERVING = frozenset({Role.OBSERVE})
CHANGING = frozenset({Role.ADMIN})

_MODEL = r"/v2/models/[^/]+(/versions/[^/]+)?"
_HEALTH = re.compile(rf"/v2/health/(live|ready)|{_MODEL}/ready")
_METADATA = re.compile(rf"/v2/?|{_MODEL}(/config)?")
_INDEX = "/v2/repository/index"
_ALL_STATISTICS = "/v2/models/stats"
"""Of every endpoint; written like the metadata of one that is called ``stats``."""


def needed_roles(method: str, path: str) -> frozenset[Role]:
    """Roles of which a caller has to have one; empty where everybody may. Inference is not asked about here.

    ``path`` is the one that the application's routes are matched with. A path that is not known needs the most that
    its method could come to, so that no way of writing one needs less than what it leads to.
    """
    if method not in READS:
        return METADATA if path == _INDEX else CHANGING
    if _HEALTH.fullmatch(path):
        return OPEN
    return METADATA if _METADATA.fullmatch(path) and path != _ALL_STATISTICS else OBSERVING
