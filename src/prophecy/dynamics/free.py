"""Terms that a field may have where some of its variables are partners of others, or time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.flow import Terms
from prophecy.dynamics.sparse import SparseField

Array = NDArray[np.float64]


def circles(values: Array, phases: int) -> list[tuple[int, int]]:
    """Each partner a quarter of a period later, and the sinusoid it belongs to: the one it makes a circle with."""
    variables = values.shape[1]
    found = []
    for partner in range(variables - phases, variables):
        rest = [
            float(
                np.std(
                    values[:, i] ** 2 / np.mean(values[:, i] ** 2)
                    + values[:, partner] ** 2 / np.mean(values[:, partner] ** 2)
                )
            )
            for i in range(variables - phases)
        ]
        found.append((int(np.argmin(rest)), partner))
    return found


def free(terms: Terms, circles: list[tuple[int, int]], clocked: bool) -> SparseField:
    """All terms, except those that a circle makes equal to others (a phase turns on its own and acts linearly), and
    except powers of a clock, what would change its pace, and more than cubic terms besides it."""
    field = SparseField.of(terms)
    mask, powers = field.mask.copy(), flow.powers(terms)
    for pair in circles:
        within = powers[:, list(pair)].sum(axis=1)
        mask[within > 1] = False
        alone = (within == 1) & (powers.sum(axis=1) == 1) | (powers.sum(axis=1) == 0)
        for i in pair:
            mask[~alone, i] = False
    if clocked:
        clock = terms.variables - 1
        mask[(powers[:, clock] > 1) | (powers[:, :clock].sum(axis=1) > 3)] = False
        mask[1:, clock] = False
    return field.with_mask(mask)
