"""The plain step: the reference that every other engine is tested against.

# x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
x = A @ x + B * u[k]
y[k] = C @ x + D * u[k]
"""

from prophecy._arrays import Reals
from prophecy.system import ScaledSystem, System


def run(system: System | ScaledSystem, u: Reals, x: Reals, y: Reals, count: int = 0) -> None:
    """All series together, one sample at a time: O(time · series · N²). LegS's matrices are made anew for each.

    count: how many samples came before.
    """
    for k in range(u.shape[1]):
        A, B, C, D = system.at(count + k + 1)
        now = u[:, k].astype(system.dtype)
        x[:] = x @ A.T + now[:, None] * B
        y[:, k] = x @ C + system.dtype.type(D) * now
