"""Ctrl-C is never taken for the failure of one series."""

import numpy as np
import pytest

from prophecy._notices import pass_interrupt_on
from prophecy.dynamics.batch import in_order


def interrupted(context):
    """What Numba makes of Ctrl-C while it calls compiled code."""
    raise SystemError("smooth returned a result with an exception set") from KeyboardInterrupt()


def test_an_interrupt_inside_compiled_code_stops_a_batch():
    with pytest.raises(KeyboardInterrupt):
        in_order(interrupted, [np.arange(9.0)], 1, None)


def test_an_interrupt_whose_cause_was_lost_stops_a_batch_too():
    with pytest.raises(KeyboardInterrupt):
        pass_interrupt_on(SystemError("CPUDispatcher(...) returned a result with an exception set"))


def test_other_errors_are_left_to_the_series():
    pass_interrupt_on(SystemError("another"))
    pass_interrupt_on(ValueError("too short"))
