"""Prophecy: a bank of systems, selected in context; the class most users meet."""

from prophecy.adaptive.prophecy import Prophecy
from prophecy.adaptive.stream import Track

__all__ = ["Prophecy", "Track"]
