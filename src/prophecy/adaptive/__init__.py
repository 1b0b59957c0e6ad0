"""Prophecy: a bank of systems, selected in context; the class most users meet."""

from prophecy.adaptive.prophecy import Prophecy, Track
from prophecy.adaptive.settings import Settings

__all__ = ["Prophecy", "Settings", "Track"]
