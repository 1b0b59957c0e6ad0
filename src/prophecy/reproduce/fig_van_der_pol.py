"""Fig. 1a: the paper's Van der Pol variant and the absolute errors of LegT and FouT along it, N = 65."""

from __future__ import annotations
