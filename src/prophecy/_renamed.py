"""Names of version 0.2 that still answer, with a warning that says the new one."""

import warnings
from typing import Any


def renamed(owner: object, old: str, new: str) -> Any:
    """The attribute that has a new name; called by the property of the old one."""
    name = type(owner).__name__
    warnings.warn(f"{name}.{old} is now {name}.{new}", DeprecationWarning, stacklevel=3)
    return getattr(owner, new)
