r"""PyTorch: HiPPO memories as layers, scans, readouts solved in context, initialisations (extra `torch`).

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

`ProphecySSM` (dense) and `DiagonalSSM` (S4D) run whole sequences in blocks, and single values with `step`. Both ways
use the same A, B, C, D, computed in float64, and give the same numbers.
`scan` is the recurrence alone, for selective models. `GatedBlock`, `Bidirectional`, `ContextSSM` are built from these.
"""

try:
    from prophecy.engines.selective import selective_scan
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"prophecy.nn needs {error.name!r}; install it with: pip install 'hippo-prophecy[torch]'", name=error.name
    ) from None
from prophecy.engines.torch_scan import scan
from prophecy.nn.base import parameter_groups, stepping
from prophecy.nn.block import Bidirectional, GatedBlock
from prophecy.nn.context import RLS, ContextSSM, ContextState, Delta, GradientStep, Ridge, Solver
from prophecy.nn.diagonal import DiagonalSSM
from prophecy.nn.initialise import init_dense_, init_s4d_
from prophecy.nn.layer import ProphecySSM
from prophecy.nn.readouts import following, horizons, slope

__all__ = [
    "RLS", "Bidirectional", "ContextSSM", "ContextState", "Delta", "DiagonalSSM", "GatedBlock", "GradientStep",
    "ProphecySSM", "Ridge", "Solver", "following", "horizons", "init_dense_", "init_s4d_", "parameter_groups",
    "scan", "selective_scan", "slope", "stepping",
]  # fmt: skip
