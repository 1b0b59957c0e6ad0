"""Prophecy: a bank of systems, selected in context; the class most users meet."""

from prophecy.adaptive.prophecy import Prophecy
from prophecy.adaptive.settings import Settings
from prophecy.adaptive.track import Track

__all__ = ["Prophecy", "Settings", "Track"]
