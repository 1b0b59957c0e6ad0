"""Ctrl-C is never taken for the failure of one series."""

import numpy as np
import pytest

from prophecy._forecast import Failure
from prophecy.dynamics.batch import in_order


def compiled(cause):
    """What Numba makes of an exception that comes while it calls compiled code from compiled code."""
    try:
        raise SystemError("inner returned a result with an exception set") from cause
    except SystemError as inner:
        raise SystemError("outer returned a result with an exception set") from inner


def test_an_interrupt_inside_compiled_code_stops_a_batch():
    with pytest.raises(KeyboardInterrupt):
        in_order(lambda context: compiled(KeyboardInterrupt()), [np.arange(9.0)], 1, None)


@pytest.mark.parametrize("cause", [MemoryError("2 TiB"), None])
def test_another_error_inside_compiled_code_is_the_failure_of_its_series(cause):
    (answer,) = in_order(lambda context: compiled(cause), [np.arange(9.0)], 1, None)
    assert isinstance(answer, Failure)
    assert isinstance(answer.error, SystemError)


def test_an_error_whose_cause_was_an_interrupt_somebody_handled_is_a_failure():
    error = ValueError("too short")
    error.__context__ = KeyboardInterrupt()
    assert Failure.of(3, error).error is error
