"""``stacked`` of an endpoint: ensembles that one worker runs, each a variant of its own."""

from pydantic import Field, field_validator

from serve_app.config.strict import Strict


class StackedConfig(Strict):
    """Ensembles whose members one worker runs one after the other on the same batch; policies choose among them as
    among variants, so that a lull buys an ensemble."""

    sets: tuple[tuple[str, ...], ...] = Field(
        min_length=1, description="names of variants of the task, at least two for each ensemble"
    )
    votes: str | None = Field(
        default=None,
        description="a CSV of recorded votes, from whose `dev` rows weights and accuracies are learned, relative to "
        "where the service is started; `null`: the catalogue's own",
    )

    @field_validator("sets")
    @classmethod
    def _several(cls, value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        for members in value:
            if len(members) < 2 or len(set(members)) < len(members):
                raise ValueError(f"{list(members)} is no ensemble; name at least two variants, each once")
        return value
