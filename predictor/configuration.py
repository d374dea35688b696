"""What is measured together and predicted for: the variants that run on one machine at a time."""

from typing import NamedTuple


class Configuration(NamedTuple):
    """Variants that run on one machine of a type at the same time; a variant may be there twice.

    The *degree* of co-location is their number (section 2.1 of the paper; 1 is a variant alone).
    """

    machine: str
    variants: tuple[str, ...]

    @property
    def degree(self) -> int:
        """How many run there."""
        return len(self.variants)

    @property
    def ordered(self) -> "Configuration":
        """The same one with its variants in the order of their names: equal for all orders of the same variants."""
        return Configuration(self.machine, tuple(sorted(self.variants)))

    def beside(self, position: int) -> tuple[str, ...]:
        """The others beside the variant at ``position``."""
        return self.variants[:position] + self.variants[position + 1 :]
