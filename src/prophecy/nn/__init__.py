r"""PyTorch: the construction as a layer, and as the initialisation of other people's layers (extra `torch`).

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

`ProphecySSM` runs whole sequences as a convolution and single values with `step`; both read the same A, B, C, D, formed
in float64, so they give the same numbers.
"""

from prophecy.nn.initialise import init_dense_, init_s4d_
from prophecy.nn.layer import ProphecySSM

__all__ = ["ProphecySSM", "init_dense_", "init_s4d_"]
