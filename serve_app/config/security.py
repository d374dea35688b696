"""``security`` of the config: who may call the HTTP interface."""

import ipaddress
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from serve_app.config.paths import located
from serve_app.config.strict import Name, Strict

RoleName = Literal["infer", "observe", "admin"]


class SecretConfig(Strict):
    """Where a secret is read by every router when it starts; never in the config itself."""

    env: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable that holds it"
    )
    file: str | None = Field(
        default=None,
        min_length=1,
        description="file that holds it, readable by its owner alone; relative to where `serve run` is started. Read "
        "again when it changes",
    )

    def beside(self, folder: Path) -> Self:
        """With the path of its file relative to a folder."""
        return self if self.file is None else self.model_copy(update={"file": located(folder, self.file)})

    @model_validator(mode="after")
    def _one_place(self) -> "SecretConfig":
        if (self.env is None) == (self.file is None):
            raise ValueError("give either env, the name of an environment variable, or file, the path of a file")
        return self


class ApiKeyConfig(SecretConfig):
    """One client. Several keys, with white space between them, are good at the same time, so that one can replace
    another.
    """

    roles: tuple[RoleName, ...] = Field(
        default=("infer",),
        min_length=1,
        description="`infer`: inference and metadata; `observe`: everything else that only reads; `admin`: everything "
        "that changes the service, feedback among it. None has another in it",
    )


class JwtConfig(SecretConfig):
    """JSON Web Tokens of one issuer, signed in one way; the secret is the key that checks them."""

    algorithm: Literal["HS256", "RS256", "ES256"] = Field(
        description="the only one taken; with `HS256` the key is a secret of 32 bytes or more, else a public key in PEM"
    )
    issuer: str = Field(min_length=1, description="what `iss` must be")
    audience: str = Field(min_length=1, description="what `aud` must be, or have")
    role_claim: str = Field(
        default="roles", min_length=1, description="claim with the roles: a list, or words separated by spaces"
    )


class SecurityConfig(Strict):
    """Who may call the HTTP interface. Without keys and tokens everybody may who reaches it."""

    api_keys: dict[Name, ApiKeyConfig] = Field(
        default_factory=dict, description="name of a client to its key, sent as bearer token or as `x-api-key`"
    )
    jwt: JwtConfig | None = Field(default=None, description="bearer tokens of an issuer; `null`: none are taken")
    anonymous: bool = Field(
        default=False,
        description="serve everybody even where `http_options.host` is not loopback, since something in front asks "
        "who calls",
    )

    @property
    def required(self) -> bool:
        """Whether callers have to say who they are."""
        return bool(self.api_keys) or self.jwt is not None

    def beside(self, folder: Path) -> Self:
        """With the paths of its files relative to a folder."""
        keys = {name: key.beside(folder) for name, key in self.api_keys.items()}
        return self.model_copy(update={"api_keys": keys, "jwt": None if self.jwt is None else self.jwt.beside(folder)})

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "SecurityConfig":
        if self.anonymous and self.required:
            raise ValueError("anonymous is true, and there are api_keys or jwt; remove anonymous, or remove the others")
        return self


def exposed_without_keys(security: SecurityConfig, host: str) -> str | None:
    """What is wrong with listening at a host, and what to do; None where nothing is."""
    if security.required or security.anonymous or is_loopback(host):
        return None
    return (
        f"http_options.host is {host!r}, which other machines reach, and nobody has to say who they are; add "
        "security.api_keys or security.jwt to the args (docs/security.md), set http_options.host to 127.0.0.1 on a "
        "single machine, or waive it with `security: {anonymous: true}` where something in front asks for credentials"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a host name or address."""
    if host.lower() in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
