"""Checks for predictors of your own: does it keep what users of a stream rely on?

    from prophecy.testing import check_predictor

    def test_mine_is_a_predictor():
        check_predictor(MyPredictor())

A predictor has `predict()`, which returns a number or an object with a `mean` (and perhaps `lower` and `upper`), and
`observe(value)`. Whether it predicts *well* is another question: see `prophecy.evaluation`.
"""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Make = Callable[[], Any]

LENGTH = 200  # values a check feeds


CHECKS: dict[str, Callable[[Make], None]] = {}
"""Every check by name, in the order in which they run."""


def _check(function: Callable[[Make], None]) -> Callable[[Make], None]:
    CHECKS[function.__name__] = function
    return function


class PredictorError(AssertionError):
    """What a predictor does not keep, one line per failed check."""


def check_predictor(predictor: Any, *, skip: Collection[str] = ()) -> tuple[str, ...]:
    """Run every check of `CHECKS` on a predictor; return the names of those it passed.

    predictor: one that has seen nothing (each check works on a deep copy), or a function or class that makes one.
    skip: names of checks to leave out, for a predictor that does not want to keep them.

    Raises `PredictorError` with all that failed, each with the check's name, what was done and what came out.

    >>> class Copy:
    ...     last = float("nan")
    ...
    ...     def predict(self):
    ...         return self.last
    ...
    ...     def observe(self, value):
    ...         if np.ndim(value) or not np.isreal(value) or np.isinf(value):
    ...             raise ValueError(f"value must be a number, got {value!r}")
    ...         self.last = self.last if np.isnan(value) else float(value)
    >>> done = check_predictor(Copy(), skip=["pickling_keeps_everything"])  # a class made here cannot be pickled
    >>> len(done) == len(CHECKS) - 1
    True
    >>> class Impatient(Copy):
    ...     def predict(self):
    ...         self.last += 1  # changes state
    ...         return self.last
    >>> check_predictor(Impatient())
    Traceback (most recent call last):
    prophecy.testing.PredictorError: ...
    """
    if unknown := set(skip) - set(CHECKS):
        raise ValueError(f"skip names no check: {sorted(unknown)}; there are {', '.join(CHECKS)}")
    make: Make = predictor
    if hasattr(predictor, "observe") and not isinstance(predictor, type):
        make = partial(copy.deepcopy, predictor)
    elif not callable(predictor):
        raise TypeError(f"predictor must have observe and predict, or make one; got {type(predictor).__name__}")
    run, failed = [name for name in CHECKS if name not in skip], []
    for name in run:
        try:
            CHECKS[name](make)
        except Exception as error:
            kind = "" if isinstance(error, PredictorError) else f"{type(error).__name__}: "
            failed.append(f"{name}: {kind}{error}")
    if failed:
        raise PredictorError("\n".join([f"{len(failed)} of {len(run)} checks failed", *failed]))
    return tuple(run)


def _signal(seed: int = 0, length: int = LENGTH) -> Array:
    """A slow wave with noise: neither constant nor predictable to the last digit."""
    noise = np.random.default_rng(seed).standard_normal(length)
    return np.asarray(np.sin(np.arange(length) / 7) + 0.1 * noise)


def _mean(answer: Any) -> float:
    mean = getattr(answer, "mean", answer)
    if callable(mean) or np.ndim(mean) != 0:
        raise PredictorError(f"predict() must return a number or an object whose `mean` is one, got {answer!r}")
    return float(mean)


def _run(model: Any, values: Iterable[Any]) -> list[float]:
    """The prediction after each value."""
    said = []
    for value in values:
        model.observe(value)
        said.append(_mean(model.predict()))
    return said


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise PredictorError(message)


def _agree(first: list[float], second: list[float], message: str) -> None:
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        where = f" after value {k}" if len(first) > 1 else ""
        _require(a == b or (math.isnan(a) and math.isnan(b)), f"{message}{where}: {a!r} and {b!r}")


@_check
def predict_before_the_first_value(make: Make) -> None:
    """Nothing known yet is NaN or a number, not an exception."""
    _mean(make().predict())


@_check
def predict_changes_nothing(make: Make) -> None:
    """Asking, once or often, leaves the answers to come as they are."""
    values, quiet, asked = _signal(), make(), make()
    for k, value in enumerate(values):
        _agree([_mean(asked.predict())], [_mean(asked.predict())], f"predict() twice at value {k} says two things")
        for model in (quiet, asked):
            model.observe(float(value))
    _agree([_mean(quiet.predict())], [_mean(asked.predict())], "predict() changed what came later")


@_check
def same_values_same_answers(make: Make) -> None:
    """Two predictors that see the same values agree to the last bit."""
    _agree(_run(make(), _signal()), _run(make(), _signal()), "two runs over the same values differ")


@_check
def predictors_share_nothing(make: Make) -> None:
    """Values one predictor sees do not reach another: no state in the class or in default arguments."""
    alone = _run(make(), _signal())
    mine, other = make(), make()
    said = []
    for value in _signal():
        mine.observe(float(value))
        other.observe(float(-3 * value + 1))
        said.append(_mean(mine.predict()))
    _agree(alone, said, "another predictor's values change the answers")


@_check
def copies_go_their_own_way(make: Make) -> None:
    """A deep copy continues as the original would, and neither disturbs the other."""
    _goes_on(make, copy.deepcopy, "a copy continues otherwise than the original")
    model = make()
    before = _run(model, _signal())[-1]
    _run(copy.deepcopy(model), 5 - _signal())
    _agree([before], [_mean(model.predict())], "values a copy has seen change the original")


@_check
def pickling_keeps_everything(make: Make) -> None:
    """A predictor sent to another process goes on as if it had stayed."""
    _goes_on(make, lambda model: pickle.loads(pickle.dumps(model)), "an unpickled predictor continues otherwise")


def _goes_on(make: Make, again: Callable[[Any], Any], message: str) -> None:
    model, (first, rest) = make(), np.split(_signal(), 2)
    _run(model, first)
    twin = again(model)
    _agree(_run(model, rest), _run(twin, rest), message)


@_check
def ordinary_values_give_finite_answers(make: Make) -> None:
    """Constants, ramps, steps, one spike, large and small numbers: every answer after the second value is finite."""
    k = np.arange(float(LENGTH))
    kinds = {
        "a constant": np.full(LENGTH, 3.7),
        "zeros": np.zeros(LENGTH),
        "a ramp": 0.5 * k,
        "a step": np.where(k < LENGTH // 2, 0.0, 1.0),
        "a spike of 1e6": np.where(k == LENGTH // 2, 1e6, _signal()),
        "values near 1e12": 1e12 + _signal(),
        "values near 1e-12": 1e-12 * _signal(),
        "alternation": (-1.0) ** k,
    }
    for kind, values in kinds.items():
        for step, said in enumerate(_run(make(), values.tolist())):
            _require(step == 0 or math.isfinite(said), f"{kind}: after value {step} it says {said}")


@_check
def any_kind_of_number_will_do(make: Make) -> None:
    """Whole numbers and NumPy's scalars are taken as the float they equal."""
    whole = [int(v) for v in np.round(20 * _signal())]
    expected = _run(make(), [float(v) for v in whole])
    for kind in (int, np.int64, np.float64, np.float32):
        _agree(expected, _run(make(), [kind(v) for v in whole]), f"{kind.__name__} is not taken as the same float")


@_check
def a_gap_is_bridged_or_refused(make: Make) -> None:
    """NaN is a missing value: either refused (ValueError, nothing changed), or the answers after it are finite."""
    values, model = _signal(), make()
    _run(model, values[:100])
    if not _refuses(model, float("nan")):
        said = [_mean(model.predict()), *_run(model, values[101:])]
        _require(bool(np.isfinite(said).all()), "after observe(nan) it predicts NaN or infinity")


@_check
def nonsense_is_refused_and_changes_nothing(make: Make) -> None:
    """Infinity, text and lists of text raise ValueError or TypeError; the answers to come are as if never asked."""
    values = _signal()
    for bad in (float("inf"), float("-inf"), "high", ["high"]):
        model, twin = make(), make()
        for each in (model, twin):
            _run(each, values[:100])
        _require(_refuses(model, bad), f"observe({bad!r}) must raise ValueError or TypeError")
        _agree(_run(twin, values[100:]), _run(model, values[100:]), f"a refused observe({bad!r}) changes the answers")


def _refuses(model: Any, value: Any) -> bool:
    try:
        model.observe(value)
    except (ValueError, TypeError):
        return True
    return False


@_check
def reset_forgets_everything(make: Make) -> None:
    """Where there is a `reset`, it leaves a new predictor."""
    model = make()
    if hasattr(model, "reset"):
        _run(model, 5 + _signal(1))
        model.reset()
        _agree(_run(make(), _signal()), _run(model, _signal()), "after reset() it differs from a new one")


@_check
def intervals_hold_their_mean_and_their_share(make: Make) -> None:
    """Where answers have `lower` and `upper`: lower ≤ mean ≤ upper, and a higher level is no narrower.

    Of the last 1 000 values of a wave in noise an interval of level 0.9, the default, holds between 80 and 99 %.
    """
    model, inside = make(), 0
    levels = "level" in inspect.signature(model.predict).parameters
    for k, value in enumerate(_signal(2, 1500)):
        answer = model.predict()
        if k >= 2 and not (hasattr(answer, "lower") and hasattr(answer, "upper")):
            return
        if k >= 2:
            low, mean, high = float(answer.lower), _mean(answer), float(answer.upper)
            _require(low <= mean <= high, f"at value {k} the interval [{low}, {high}] does not hold the mean {mean}")
            inside += k >= 500 and low <= value <= high
            if levels and k % 100 == 0:
                widths = [float(a.upper) - float(a.lower) for a in map(model.predict, (0.5, 0.9, 0.99))]
                _require(widths == sorted(widths), f"widths at levels 0.5, 0.9, 0.99 are {widths} at value {k}")
        model.observe(float(value))
    _require(0.80 <= inside / 1000 <= 0.99, f"intervals hold {inside / 10:.1f} % of 1 000 values")
