"""``artifacts`` of the config: which model files may be had, and from where."""

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from catalog.artifacts.places import local_path
from catalog.artifacts.rules import MAX_BYTES, ArtifactRules
from serve_app.config.paths import located
from serve_app.config.strict import Strict


class ArtifactsConfig(Strict):
    """Model files: the catalogue may name any of this machine, clients only what lies where it is allowed."""

    allowed: tuple[str, ...] = Field(
        default=(),
        description="folders and URLs that clients may register variants from (`accord register`) beside the "
        "catalogue's own folder, and that downloads may be redirected to; folders are relative to where `serve run` is "
        "started",
    )
    max_bytes: int = Field(default=MAX_BYTES, gt=0, description="the most that a fetched artifact may have")
    allow_code: tuple[Literal["torchscript", "exported_program", "python"], ...] = Field(
        default=(),
        description="kinds of model file that run code of whoever made them, and that may come from a model store or "
        "a client nevertheless; a catalogue may name local ones without it. `python` lets clients register classes "
        "(`runtime: python`) of modules in the catalogue's folder or `allowed`",
    )
    private: bool = Field(
        default=False,
        description="fetch from hosts with private addresses too; link-local ones stay refused, loopback ones have to "
        "be written as such",
    )

    @property
    def rules(self) -> ArtifactRules:
        """The same for whoever fetches."""
        return ArtifactRules(self.allowed, self.max_bytes, frozenset(self.allow_code), self.private)

    def beside(self, folder: Path) -> Self:
        """With folders relative to one."""
        places = tuple(located(folder, each) for each in self.allowed)
        return self.model_copy(update={"allowed": places})

    @field_validator("allowed")
    @classmethod
    def _places(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            url = urlsplit(each)
            if local_path(each) is None and (not url.netloc or "@" in url.netloc or url.query or "::" in each):
                raise ValueError(f"{each!r} is no place; write a folder, or a URL such as https://host/folder/")
            if not each:
                raise ValueError("a place is empty; write a folder or a URL")
        return value
