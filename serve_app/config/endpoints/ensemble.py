"""``ensemble`` of an endpoint: several variants vote on a query."""

from pydantic import Field, field_validator

from dispatch.ensemble.chooser import CHOOSERS
from serve_app.config.strict import Strict, one_of


class EnsembleConfig(Strict):
    """Several of the endpoint's variants vote on a query, weighted by how good each is at each class."""

    choose: str = Field(
        default="waves",
        description="who votes: `waves`, the cheapest members that do, a second wave only where the first does not "
        "agree; `intervals`, fewer or more members every 30 s; `everyone` that is fast enough",
    )
    votes: str | None = Field(
        default=None,
        description="a CSV of recorded votes (`split,label` and a column per variant), from whose `dev` rows weights "
        "and sets of members are learned, relative to where the service is started; `null`: the catalogue's own, if it "
        "has any",
    )
    accuracy: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="what a query that asks for no accuracy gets at least, 0 to 1; `null`: the most that there is",
    )
    best_effort: bool = Field(
        default=False,
        description="serve a query whose accuracy cannot be reached in its time by the best that can; else it gets 400",
    )

    @field_validator("choose")
    @classmethod
    def _known(cls, value: str) -> str:
        return one_of(value, tuple(CHOOSERS))
