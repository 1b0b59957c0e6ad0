"""What users of a stream rely on, for streams, predictors and the simplest predictor there is."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from functools import partial

import numpy as np
import pytest

import prophecy
from prophecy import Predictor, legs, legt, next_value

LENGTH = 200  # values a check feeds
KINDS = {
    "Prophecy": prophecy.Prophecy(),
    "Prophecy that refuses gaps": prophecy.Prophecy(gaps="raise"),
    "Predictor": Predictor(next_value(legt(order=9, window=400.0), dt=1.0)),
    "Predictor, LegS": Predictor(next_value(legs(order=6), dt=1.0)),
}


@pytest.fixture(params=KINDS)
def make(request):
    return partial(copy.deepcopy, KINDS[request.param])


def _signal(seed=0, length=LENGTH):
    """A slow wave with noise: neither constant nor predictable to the last digit."""
    noise = np.random.default_rng(seed).standard_normal(length)
    return np.asarray(np.sin(np.arange(length) / 7) + 0.1 * noise)


def _mean(answer):
    return float(getattr(answer, "point", answer))


def _run(model, values):
    """The prediction after each value."""
    said = []
    for value in values:
        model.observe(value)
        said.append(_mean(model.predict()))
    return said


def _agree(first, second, message):
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        where = f" after value {k}" if len(first) > 1 else ""
        assert a == b or (math.isnan(a) and math.isnan(b)), f"{message}{where}: {a!r} and {b!r}"


def test_predict_before_the_first_value(make):
    """Nothing known yet is NaN or a number, not an exception."""
    _mean(make().predict())


def test_predict_changes_nothing(make):
    """Asking, once or often, leaves the answers to come as they are."""
    values, quiet, asked = _signal(), make(), make()
    for k, value in enumerate(values):
        _agree([_mean(asked.predict())], [_mean(asked.predict())], f"predict() twice at value {k} says two things")
        for model in (quiet, asked):
            model.observe(float(value))
    _agree([_mean(quiet.predict())], [_mean(asked.predict())], "predict() changed what came later")


def test_same_values_same_answers(make):
    """Two predictors that see the same values agree to the last bit."""
    _agree(_run(make(), _signal()), _run(make(), _signal()), "two runs over the same values differ")


def test_predictors_share_nothing(make):
    """Values one predictor sees do not reach another: no state in the class or in default arguments."""
    alone = _run(make(), _signal())
    mine, other = make(), make()
    said = []
    for value in _signal():
        mine.observe(float(value))
        other.observe(float(-3 * value + 1))
        said.append(_mean(mine.predict()))
    _agree(alone, said, "another predictor's values change the answers")


def test_copies_go_their_own_way(make):
    """A deep copy continues as the original would, and neither disturbs the other."""
    _goes_on(make, copy.deepcopy, "a copy continues otherwise than the original")
    model = make()
    before = _run(model, _signal())[-1]
    _run(copy.deepcopy(model), 5 - _signal())
    _agree([before], [_mean(model.predict())], "values a copy has seen change the original")


def test_pickling_keeps_everything(make):
    """A predictor sent to another process goes on as if it had stayed."""
    _goes_on(make, lambda model: pickle.loads(pickle.dumps(model)), "an unpickled predictor continues otherwise")


def _goes_on(make, again, message):
    model, (first, rest) = make(), np.split(_signal(), 2)
    _run(model, first)
    twin = again(model)
    _agree(_run(model, rest), _run(twin, rest), message)


def test_ordinary_values_give_finite_answers(make):
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
            assert step == 0 or math.isfinite(said), f"{kind}: after value {step} it says {said}"


def test_any_kind_of_number_will_do(make):
    """Whole numbers and NumPy's scalars are taken as the float they equal."""
    whole = [int(v) for v in np.round(20 * _signal())]
    expected = _run(make(), [float(v) for v in whole])
    for kind in (int, np.int64, np.float64, np.float32):
        _agree(expected, _run(make(), [kind(v) for v in whole]), f"{kind.__name__} is not taken as the same float")


def test_a_gap_is_bridged_or_refused(make):
    """NaN is a missing value: either refused (ValueError, nothing changed), or the answers after it are finite."""
    values, model = _signal(), make()
    _run(model, values[:100])
    if not _refuses(model, float("nan")):
        said = [_mean(model.predict()), *_run(model, values[101:])]
        assert bool(np.isfinite(said).all()), "after observe(nan) it predicts NaN or infinity"


def test_nonsense_is_refused_and_changes_nothing(make):
    """Infinity, text and lists of text raise ValueError or TypeError; the answers to come are as if never asked."""
    values = _signal()
    for bad in (float("inf"), float("-inf"), "high", ["high"]):
        model, twin = make(), make()
        for each in (model, twin):
            _run(each, values[:100])
        assert _refuses(model, bad), f"observe({bad!r}) must raise ValueError or TypeError"
        _agree(_run(twin, values[100:]), _run(model, values[100:]), f"a refused observe({bad!r}) changes the answers")


def _refuses(model, value):
    try:
        model.observe(value)
    except (ValueError, TypeError):
        return True
    return False


def test_reset_forgets_everything(make):
    """Where there is a `reset`, it leaves a new predictor."""
    model = make()
    if hasattr(model, "reset"):
        _run(model, 5 + _signal(1))
        model.reset()
        _agree(_run(make(), _signal()), _run(model, _signal()), "after reset() it differs from a new one")


def test_intervals_hold_their_mean_and_their_share(make):
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
            assert low <= mean <= high, f"at value {k} the interval [{low}, {high}] does not hold the mean {mean}"
            inside += k >= 500 and low <= value <= high
            if levels and k % 100 == 0:
                widths = [float(a.upper) - float(a.lower) for a in map(model.predict, (0.5, 0.9, 0.99))]
                assert widths == sorted(widths), f"widths at levels 0.5, 0.9, 0.99 are {widths} at value {k}"
        model.observe(float(value))
    assert 0.80 <= inside / 1000 <= 0.99, f"intervals hold {inside / 10:.1f} % of 1 000 values"
