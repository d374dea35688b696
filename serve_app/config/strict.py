"""What the parts of the config have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from catalog.faults import nearest

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class Strict(BaseModel):
    """Unknown keys, infinity and NaN are refused; nothing changes once it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def one_of(value: str, known: tuple[str, ...]) -> str:
    """The value; raises ValueError that says what it may be, and which name is nearest."""
    if value not in known:
        raise ValueError(f"{value!r} is unknown{nearest(value, known)}; use one of {', '.join(known)}")
    return value
