"""Shared set-up: tests never touch the user's cache, and hypothesis draws the same examples everywhere."""

from __future__ import annotations

import os
import tempfile

from hypothesis import HealthCheck, settings

# Set before any engine is chosen, so that "auto" measures into a folder of its own.
os.environ.setdefault("PROPHECY_CACHE", tempfile.mkdtemp(prefix="prophecy-tests-"))

settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
