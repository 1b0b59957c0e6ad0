"""The conformance suite passes what keeps its word, and names the check that each bad predictor fails."""

from __future__ import annotations

import numpy as np
import pytest

import prophecy
from prophecy import Predictor, legs, legt, next_value
from prophecy.testing import CHECKS, PredictorError, check_predictor


class Good:
    """The last value, refusing what is no number."""

    def __init__(self) -> None:
        self.last = float("nan")

    def predict(self) -> float:
        return self.last

    def observe(self, value: float) -> None:
        if isinstance(value, str) or value is None or np.isinf(value):
            raise ValueError(f"value must be a number, got {value!r}")
        if not np.isnan(value):
            self.last = float(value)


class RaisesAtFirst(Good):
    def predict(self) -> float:
        if np.isnan(self.last):
            raise RuntimeError("nothing known")
        return self.last


class ChangesWhenAsked(Good):
    def predict(self) -> float:
        self.last *= 1.0001
        return self.last


class ChangesLater(Good):
    """Says the same when asked twice, but counts how often it was asked."""

    asked = 0

    def predict(self) -> float:
        self.asked += 1
        return self.last

    def observe(self, value: float) -> None:
        super().observe(value)
        self.last += self.asked


class Random(Good):
    def observe(self, value: float) -> None:
        super().observe(value)
        self.last += np.random.default_rng().normal()


class Shared(Good):
    seen: list[float] = []  # noqa: RUF012  the mistake under test

    def observe(self, value: float) -> None:
        super().observe(value)
        self.seen.append(self.last)

    def predict(self) -> float:
        return float(np.mean(self.seen)) if self.seen else float("nan")


class HoldsALock(Good):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = iter([1.0] * 10_000)

    def __deepcopy__(self, memo: object) -> HoldsALock:
        twin = HoldsALock()
        twin.last = self.last
        return twin

    def __reduce__(self) -> object:
        raise TypeError("cannot be pickled")


class CopiesAlias(Good):
    def __init__(self) -> None:
        super().__init__()
        self.box = [float("nan")]

    def observe(self, value: float) -> None:
        super().observe(value)
        self.box[0] = self.last

    def predict(self) -> float:
        return self.box[0]

    def __deepcopy__(self, memo: object) -> CopiesAlias:
        twin = CopiesAlias()
        twin.box, twin.last = self.box, self.last
        return twin


class Squares(Good):
    """Overflows where values grow."""

    def predict(self) -> float:
        with np.errstate(all="ignore"):
            return float(np.float64(self.last) * np.exp(np.float64(self.last)))


class OnlyFloats(Good):
    def observe(self, value: float) -> None:
        super().observe(value)
        if not isinstance(value, float):
            self.last += 1e-3


class SwallowsNaN(Good):
    def observe(self, value: float) -> None:
        if isinstance(value, str) or value is None or np.isinf(value):
            raise ValueError("no number")
        self.last = float(value)

    def predict(self) -> float:
        return self.last


class TakesInfinity(Good):
    def observe(self, value: float) -> None:
        if isinstance(value, str) or value is None:
            raise TypeError("no number")
        if np.isfinite(value):
            self.last = float(value)


class ChangedByRefusal(Good):
    def observe(self, value: float) -> None:
        self.count = getattr(self, "count", 0) + 1
        super().observe(value)
        self.last += 1e-6 * self.count


class ResetsHalf(Good):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def observe(self, value: float) -> None:
        super().observe(value)
        self.count += 1

    def predict(self) -> float:
        return self.last + self.count

    def reset(self) -> None:
        self.last = float("nan")


class Interval:
    def __init__(self, mean: float, lower: float, upper: float) -> None:
        self.mean, self.lower, self.upper = mean, lower, upper


class TooNarrow(Good):
    def predict(self, level: float = 0.9) -> Interval:  # type: ignore[override]
        return Interval(self.last, self.last - 1e-3, self.last + 1e-3)


class NarrowerWhenSurer(Good):
    def predict(self, level: float = 0.9) -> Interval:  # type: ignore[override]
        return Interval(self.last, self.last - 0.5 + 0.2 * level, self.last + 0.5 - 0.2 * level)


class MeanOutside(Good):
    def predict(self, level: float = 0.9) -> Interval:  # type: ignore[override]
        return Interval(self.last, self.last + 0.1, self.last + 0.5)


BAD = {
    RaisesAtFirst: "predict_before_the_first_value",
    ChangesWhenAsked: "predict_changes_nothing",
    ChangesLater: "predict_changes_nothing",
    Random: "same_values_same_answers",
    Shared: "predictors_share_nothing",
    CopiesAlias: "copies_go_their_own_way",
    HoldsALock: "pickling_keeps_everything",
    Squares: "ordinary_values_give_finite_answers",
    OnlyFloats: "any_kind_of_number_will_do",
    SwallowsNaN: "a_gap_is_bridged_or_refused",
    TakesInfinity: "nonsense_is_refused_and_changes_nothing",
    ChangedByRefusal: "nonsense_is_refused_and_changes_nothing",
    ResetsHalf: "reset_forgets_everything",
    TooNarrow: "intervals_hold_their_mean_and_their_share",
    NarrowerWhenSurer: "intervals_hold_their_mean_and_their_share",
    MeanOutside: "intervals_hold_their_mean_and_their_share",
}


@pytest.mark.parametrize(
    "predictor",
    [
        Good(),
        Good,
        prophecy.Prophecy(),
        prophecy.Prophecy(gaps="raise"),
        Predictor(next_value(legt(order=9, window=400.0), dt=1.0)),
        Predictor(next_value(legs(order=6), dt=1.0)),
    ],
    ids=["copy", "a class", "Prophecy", "Prophecy that refuses gaps", "Predictor", "Predictor, LegS"],
)
def test_what_keeps_its_word_passes_every_check(predictor):
    assert check_predictor(predictor) == tuple(CHECKS)


@pytest.mark.parametrize(("bad", "check"), BAD.items(), ids=lambda value: getattr(value, "__name__", value))
def test_each_bad_predictor_fails_the_check_made_for_it(bad, check):
    with pytest.raises(PredictorError, match=f"(?m)^{check}: "):
        check_predictor(bad)


def test_every_check_is_failed_by_somebody():
    assert {*BAD.values()} == {*CHECKS}


def test_a_check_that_is_skipped_does_not_count_and_unknown_ones_are_named():
    assert "pickling_keeps_everything" not in check_predictor(HoldsALock, skip=["pickling_keeps_everything"])
    with pytest.raises(ValueError, match="skip names no check: \\['pickle'\\]"):
        check_predictor(Good(), skip=["pickle"])
    with pytest.raises(TypeError, match="got int"):
        check_predictor(3)


def test_the_error_says_what_was_done_and_what_came_out():
    with pytest.raises(PredictorError, match=r"predict\(\) twice at value \d+ says .* and "):
        check_predictor(ChangesWhenAsked())
