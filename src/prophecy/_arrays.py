"""Arrays named by what they hold, for annotations."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Indices = NDArray[np.intp]
