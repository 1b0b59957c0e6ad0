"""Prophecy: a bank of systems, selected in context; the class most users meet."""

from prophecy.adaptive.prophecy import Prophecy, Track

__all__ = ["Prophecy", "Track"]
