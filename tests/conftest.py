"""Shared set-up: tests never touch the user's cache, and hypothesis draws the same examples everywhere."""

from __future__ import annotations

import getpass
import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from prophecy import _notices

# Set before any engine is chosen, so that "auto" measures into a folder of its own; the same one next time, since
# what is compiled into it takes seconds. A folder that somebody else has made there is not used.
os.environ.setdefault("PROPHECY_CACHE", os.path.join(tempfile.gettempdir(), f"prophecy-tests-{getpass.getuser()}"))

# The suite draws the same examples everywhere; PROPHECY_HYPOTHESIS=long draws new ones, fifty times as many.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("PROPHECY_HYPOTHESIS", "suite"))


@pytest.fixture(autouse=True, scope="session")
def _no_word_about_compiling():
    """Which test compiles first is a matter of chance; the one about the notice starts a process of its own."""
    patch = pytest.MonkeyPatch()
    patch.setattr(_notices, "to_stderr", lambda: None)
    patch.setattr(_notices, "_tell", None)
    yield
    patch.undo()
