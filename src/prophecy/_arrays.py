"""Arrays named by what they hold, for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Reals = NDArray[Any]  # float32 or float64, as the system is that they belong to
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Indices = NDArray[np.intp]
