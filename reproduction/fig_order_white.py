"""Fig. 1c: error of LegT and FouT against N = 1, 6, …, 96 on White Signal."""

from __future__ import annotations

from reproduction import paper
from reproduction.order_sweep import OrderSweep


class FigOrderWhite(OrderSweep):
    name = "fig-order-white"
    title = "Error against the order: White Signal"
    reference = "Fig. 1c"
    place = 30
    dataset = paper.WHITE
    parameters = (1.0, 2.0, 5.0)
    easiest_first = (1.0, 2.0, 5.0)
    symbol = "γ"
