"""What an operator allows of model files."""

from dataclasses import dataclass

from catalog.artifacts.places import local_path, within
from catalog.errors import BadRequest, Forbidden
from catalog.user_code.source import source_of
from catalog.variant import PYTHON, Artifact

MAX_BYTES = 10 * 2**30

TORCHSCRIPT, EXPORTED_PROGRAM = "torchscript", "exported_program"
"""Kinds of model file that run code of whoever made them, which have to be allowed by name."""

USER_CODE = PYTHON
"""A class of Python code, which has to be allowed by the name of its runtime."""


@dataclass(frozen=True)
class ArtifactRules:
    """``allowed`` are absolute folders, and URLs of folders or files, beside the catalogue's own folder.

    ``max_bytes`` is the most that one artifact may have. ``allow_code`` names what may come from a model store beside
    ONNX and safetensors. With ``private`` models may be fetched from hosts with private addresses.
    """

    allowed: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    allow_code: frozenset[str] = frozenset()
    private: bool = False

    def admit(self, artifact: Artifact, root: str, what: str) -> None:
        """Refuse what a client names outside of the allowed places, or remote and without its checksum.

        Raises `Forbidden` or `BadRequest`, and `ArtifactError` for a class whose module is not there.
        """
        if artifact.import_path is not None:
            self._admit_class(artifact.import_path, root, what)
            return
        place = located(artifact.uri, root)
        if not any(within(place, allowed) for allowed in (root, *self.allowed)):
            raise Forbidden(
                f"{what}: {artifact.uri!r} is in none of the places that models may come from; put it beside the "
                "catalogue, or have the operator name its folder or URL under artifacts.allowed"
            )
        if local_path(place) is None and artifact.sha256 is None:
            raise BadRequest(f"{what}: {artifact.uri!r} is remote and has no sha256; give the checksum of the file")

    def _admit_class(self, import_path: str, root: str, what: str) -> None:
        if USER_CODE not in self.allow_code:
            raise Forbidden(
                f"{what}: artifact.import {import_path!r} is code that workers would run; put the variant into the "
                f"catalogue, or have the operator allow it with artifacts.allow_code: [{USER_CODE}]"
            )
        source = source_of(import_path, root)
        if not any(within(str(source), allowed) for allowed in (root, *self.allowed)):
            raise Forbidden(
                f"{what}: the module of {import_path!r} is {source}, in none of the places that models may come from; "
                "put it beside the catalogue, or have the operator name its folder under artifacts.allowed"
            )


def located(uri: str, root: str) -> str:
    """The path or URL of an artifact; a relative one starts from ``root``, a folder or its URL."""
    if is_url(uri) or uri.startswith("/"):
        return uri
    return f"{root.rstrip('/')}/{uri}"


def is_url(location: str) -> bool:
    """Whether a location is one for fsspec."""
    return "://" in location
