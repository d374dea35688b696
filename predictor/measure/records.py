"""The files of a measurement: what was measured, to be gone on with."""

import hashlib
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from catalog.errors import ConfigError
from catalog.extras import require
from predictor.measure.choice import Variants
from predictor.measure.co_location import CoLocation
from predictor.measure.positions import Role
from predictor.measurements import Measurements, read_measurements
from predictor.variant_table import read_variants

MEASUREMENTS, VARIANTS = "measurements.parquet", "variants.parquet"


class Setting(NamedTuple):
    """What measurements depend on beside the variants; those of another setting are not gone on with."""

    machine: str
    versions: str  # of what runs the variants
    threads: int  # of each variant


class Records:
    """Measurements and metrics of variants in a folder; files are written whole or not at all.

    Raises `ConfigError` where there is a file that cannot be read, or none can be written.
    """

    def __init__(self, folder: Path, setting: Setting) -> None:
        require("interference", "measuring interference")
        self.measurements = folder / MEASUREMENTS
        self.variants = folder / VARIANTS
        self._setting = setting
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot write to {folder}: {error.strerror}; give another folder") from error
        self._rows = _rows_of(self.measurements, partial(read_measurements, of_one_setting=False))
        self._metrics = _rows_of(self.variants, read_variants)

    def done(self) -> Counter[Variants]:
        """How often each configuration was measured in this setting."""
        return Counter(variants for variants, _ in self.others_frac().values())

    def others_frac(self) -> dict[str, tuple[Variants, float]]:
        """By name of each configuration in this setting its variants, and what share of the CPUs others had."""
        names, others_frac = defaultdict[str, list[str]](list), {}
        for row in self._rows:
            if self._is_own(row):
                names[row["configuration"]].append(row["variant"])
                others_frac[row["configuration"]] = float(row["others_frac"])
        return {name: (tuple(sorted(own)), others_frac[name]) for name, own in names.items()}

    def metrics(self, variant: str) -> Mapping[str, Any] | None:
        """What `add_metrics` kept in this setting; None where it has not."""
        own = (row for row in self._metrics if self._is_own(row) and row["variant"] == variant)
        return next(own, None)

    def add_metrics(self, variant: str, metrics: Mapping[str, float]) -> None:
        """Keep metrics of a variant, ``hw_rows`` among them, in place of those that it had on this machine."""
        key = (variant, self._setting.machine)
        others = [row for row in self._metrics if (row["variant"], row["machine"]) != key]
        own = {"variant": variant, **self._setting._asdict(), "measured_at": _now(), **metrics}
        self._metrics = [*others, own]
        _write(self.variants, self._metrics)

    def add(self, roles: Sequence[Role], measured: CoLocation, instead_of: str | None = None) -> str:
        """Keep what was measured of one configuration, under the name of another measurement of it, or a new one.

        Gives that name.
        """
        name = instead_of or self._new_name(tuple(sorted(role.variant for role in roles)))
        self._rows = [row for row in self._rows if row["configuration"] != name]
        for role, alone_s, together_s, error in zip(
            roles, measured.alone_s, measured.together_s, measured.error, strict=True
        ):
            self._rows.append(
                {
                    "configuration": name,
                    "machine": self._setting.machine,
                    "variant": role.variant,
                    "alone_ms": alone_s * 1e3,
                    "together_ms": together_s * 1e3,
                    "rows": role.rows,
                    "slowdown_error": error,
                    "cycles": measured.cycles,
                    "others_frac": measured.others_frac,
                    "seconds": measured.seconds,
                    "measured_at": _now(),
                    "versions": self._setting.versions,
                    "threads": self._setting.threads,
                }
            )
        _write(self.measurements, self._rows)
        return name

    def _new_name(self, variants: Variants) -> str:
        known = "|".join((*map(str, self._setting), *variants))
        return f"{hashlib.sha256(known.encode()).hexdigest()[:12]}-{uuid4().hex[:12]}"  # no other machine has it

    def own(self) -> Measurements | None:
        """All that was measured in this setting; None where nothing was."""
        own = self.others_frac()
        if not own:
            return None
        read = read_measurements(self.measurements, of_one_setting=False)
        ids = list(dict.fromkeys(row["configuration"] for row in self._rows))
        return Measurements(tuple(run for run, each in zip(read.runs, ids, strict=True) if each in own))

    def _is_own(self, row: Mapping[str, Any]) -> bool:
        return all(row.get(name) == value for name, value in self._setting._asdict().items())


def _rows_of(file: Path, check: Any) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    import pandas as pd

    check(file)
    rows: list[dict[str, Any]] = pd.read_parquet(file).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    try:
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=file.parent) as folder:
            written = Path(folder) / file.name
            pd.DataFrame(rows).to_parquet(written, index=False)
            os.replace(written, file)
    except OSError as error:
        raise ConfigError(f"cannot write {file}: {error.strerror}; make room, or give another folder") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
