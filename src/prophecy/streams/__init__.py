"""Prophecy: a bank of systems, selected in context; the class most users meet."""

from prophecy.streams.prophecy import Prophecy
from prophecy.streams.settings import Settings
from prophecy.streams.track import Track

__all__ = ["Prophecy", "Settings", "Track"]
