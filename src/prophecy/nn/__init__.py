r"""PyTorch: HiPPO memories as layers, scans, readouts solved in context, initialisations (extra `torch`).

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

`ProphecySSM` runs whole sequences as a convolution and single values with `step`; both read the same A, B, C, D, formed
in float64, so they give the same numbers.
"""

from prophecy.engines.torch_scan import scan
from prophecy.nn.context import RLS, ContextState, Delta, GradientStep, Ridge, Solver
from prophecy.nn.initialise import init_dense_, init_s4d_
from prophecy.nn.layer import ProphecySSM

__all__ = [
    "RLS",
    "ContextState",
    "Delta",
    "GradientStep",
    "ProphecySSM",
    "Ridge",
    "Solver",
    "init_dense_",
    "init_s4d_",
    "scan",
]
