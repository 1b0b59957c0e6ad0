"""A transformer for scikit-learn (extra `sklearn`)."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from prophecy._arrays import Array
from prophecy.adapters import causal

EXPECTED_FAILED_CHECKS = {
    "check_methods_sample_order_invariance": "rows are moments: their order is the data",
    "check_methods_subset_invariance": "a row's features depend on the rows before it: that is what they are for",
}
"""For `parametrize_with_checks(expected_failed_checks=...)`: what no transformer of a time series can pass."""


class CausalFeatures(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """For each column, a prediction of the next value and the derivative now, from this row and those above it alone.

    Rows are moments in order. Nothing leaks from the future: the features of a row do not change when rows are added
    below it. Missing values (NaN) are bridged by predictions.
    dt: time between rows, the unit of the derivative. keep: whether the columns themselves come first in the output.

    >>> X = np.sin(np.arange(100) / 10)[:, None]
    >>> features = CausalFeatures(dt=0.1).fit_transform(X)
    >>> features.shape
    (100, 3)
    >>> bool(abs(features[-1, 2] - np.cos(9.9)) < 1e-6)
    True
    """

    def __init__(self, dt: float = 1.0, keep: bool = True) -> None:
        self.dt = dt
        self.keep = keep

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note the columns; there is nothing to train."""
        validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        return self

    def transform(self, X: Any) -> Array:
        """(rows, columns) to (rows, 3 columns), or 2 without `keep`: [values,] predictions, derivatives."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return np.concatenate([*([rows] if self.keep else []), *causal(rows, self.dt)], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """`x`, `x_next`, `x_derivative` for each column, grouped by kind."""
        names = super().get_feature_names_out(input_features)
        endings = ([""] if self.keep else []) + ["_next", "_derivative"]
        return np.array([f"{name}{ending}" for ending in endings for name in names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
