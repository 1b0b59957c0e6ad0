"""Fig. 1b: error of LegT and FouT against N = 1, 6, …, 96 on Filtered Noise."""

from __future__ import annotations

from reproduction import paper
from reproduction.order_sweep import OrderSweep


class FigOrderFiltered(OrderSweep):
    name = "fig-order-filtered"
    title = "Error against the order: Filtered Noise"
    reference = "Fig. 1b"
    place = 20
    dataset = paper.FILTERED
    parameters = (0.05, 0.1, 0.3)
    easiest_first = (0.3, 0.1, 0.05)
    symbol = "α"
