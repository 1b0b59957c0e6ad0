"""Types of records. Their fields are attributes to Numba; where its compiler is switched off, to Python as well.

So the step runs as plain Python, for debuggers and mutation runs: `NUMBA_DISABLE_JIT=1 python …`, some 16 ms a value.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np


class Fields(np.void):  # type: ignore[misc]
    """A record whose fields are attributes, before methods of the same name (`mean`)."""

    def __getattribute__(self, name: str) -> Any:
        get = np.void.__getattribute__
        return self[name] if name in get(self, "dtype").fields else get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def record_type(fields: Any) -> Any:
    """The dtype of these fields; Python reads them as attributes where Numba does not compile."""
    plain = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return np.dtype((Fields, np.dtype(fields))) if plain else np.dtype(fields)
