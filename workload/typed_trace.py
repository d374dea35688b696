"""Arrivals of several query types from one recorded trace."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from catalog.errors import ConfigError
from workload.trace_file import TraceFile

COLUMNS = "arrival_ms or arrival_s, and query_type (one line per query)"


def read_typed_trace(path: Path) -> dict[str, NDArray[np.float64]]:
    """Arrivals by query type, ascending, in seconds from the first; types in the order of their names.

    Instants may count from anything, the epoch too. The columns are `COLUMNS`, others are ignored; the file may be
    gzipped. Raises `ConfigError` naming the file, the line and the value that are wrong.
    """
    file = TraceFile.read(path, COLUMNS)
    arrivals_s = file.arrivals_s()
    if arrivals_s is None or "query_type" not in file.header:
        raise ConfigError(f"trace {path} has columns {', '.join(file.header)}; give a CSV file with {COLUMNS}")
    names, type_of = np.unique(np.array(file.text("query_type")), return_inverse=True)
    return {str(name): arrivals_s[type_of == index] - arrivals_s[0] for index, name in enumerate(names)}
