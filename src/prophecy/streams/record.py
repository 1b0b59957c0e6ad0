"""What a stream knows, in fixed size: the fields of its record, its clock and its samples, each with meaning, unit and
limits.

A batch is an array of records, saving is writing the array, and a record continues on any machine (`rows`). Each field
is one line: the dtype, the check, the table of docs/record.md and the C struct follow from it. Plain lists, without
NumPy: tools/structs.py writes the C structs when the package is built, `rows` makes dtypes of the same lists.
"""

from dataclasses import fields
from typing import Any, NamedTuple

from prophecy.streams import limits as n
from prophecy.streams import members as m
from prophecy.streams.settings import DEFAULT, Group

REAL, WHOLE, PLACE = "f8", "i8", "u8"
"""Kinds of numbers; places are never negative."""


class Field(NamedTuple):
    """A field of a record: numbers between `low` and `high`. kind: `REAL` or `WHOLE`; missing: NaN is one of them."""

    name: str
    kind: str
    shape: tuple[int, ...]
    low: float
    high: float
    unit: str
    meaning: str
    missing: bool = False


_SOLVED = (len(m.SOLVED),)

FIELDS = (
    Field("hold", WHOLE, (), 0, 1, "flag", "1 where a gap repeats the last value, 0 where it is filled by prediction"),
    Field("count", WHOLE, (), 0, n.MOST, "samples", "moments since the first value, gaps included"),
    Field("gap", WHOLE, (), 0, n.MOST, "samples", "values missing, or not confirmed, since the last known one"),
    Field("crossed", WHOLE, (), 0, n.GAP + n.LONGEST, "samples", "those of them that are in the ring"),
    Field("known", WHOLE, (), 0, n.MOST, "samples", "known values"),
    Field("learned", WHOLE, (), 0, n.MOST, "samples", "values learned from"),
    Field("last", REAL, (), -n.LARGEST, n.LARGEST, "signal", "the newest value, or its substitute"),
    Field("change", REAL, (), -n.MOVED, n.MOVED, "signal", "the next value, predicted, less the newest"),
    Field("mean", REAL, (), -n.MOVED, n.MOVED, "signal", "running mean of the values"),
    Field("lag", REAL, (m.LAGS,), -n.LARGEST, n.LARGEST, "signal", "the last values, newest first"),
    Field("feature", REAL, (m.FEATURES,), -n.MOVED, n.MOVED, "signal", "lags, memories, seasons less the newest value"),
    Field("alternation", REAL, (2,), -n.MOVED, n.MOVED, "signal", "filters that follow an alternating part"),
    Field("prediction", REAL, (m.MEMBERS,), -n.MOVED, n.MOVED, "signal", "the next change, as each member predicts it"),
    Field("weight", REAL, (m.MEMBERS,), 0, 1, "probability", "weight of each member; they add up to 1"),
    Field("scale", REAL, (m.MEMBERS,), 0, n.SQUARED, "signal²", "discounted mean squared error of each member"),
    Field("peak", REAL, (m.MEMBERS,), 0, n.SQUARED, "signal²", "largest squared error in this block"),
    Field("last_peak", REAL, (m.MEMBERS,), 0, n.SQUARED, "signal²", "largest squared error in the block before"),
    Field("error_scale", REAL, (), 0, n.SQUARED, "signal²", "discounted mean squared error of the forecast"),
    Field("error_peak", REAL, (), 0, n.SQUARED, "signal²", "its largest squared error in this block"),
    Field("last_error_peak", REAL, (), 0, n.SQUARED, "signal²", "its largest squared error in the block before"),
    Field("quantile", REAL, (len(m.LEVELS),), n.LOWEST, n.HIGHEST, "rms", "quantiles of its absolute errors"),
    Field("tail", REAL, (), 0, 4, "1", "mean logarithm by which errors beyond the quantile of level 0.98 pass it"),
    Field("bias", REAL, (m.FIXED,), -2 * n.MOVED, 2 * n.MOVED, "signal", "average error of each constructed member"),
    Field("squared_bias", REAL, (m.FIXED,), 0, n.SQUARED, "signal²", "average of its square"),
    Field("growth", REAL, _SOLVED, 1, n.GROWTH, "1", "growth of each factor not yet applied to it"),
    Field("readout", REAL, (len(m.SOLVED), m.WIDTH), -n.READOUT, n.READOUT, "1", "weights of the solved members"),
    Field("power", REAL, _SOLVED, 0, n.SQUARED, "signal²", "mean square of each solved member's features"),
    Field("begun", WHOLE, _SOLVED, 0, 1, "flag", "1 where a factor has its prior"),
    Field("same", WHOLE, (), 0, n.MOST, "samples", "values equal to the newest, in a row before it"),
    Field("longest", WHOLE, (), 0, n.MOST, "samples", "the most equal values in a row, before the current ones"),
    Field("rests", WHOLE, (), 0, n.MOST, "1", "runs of 16 or more differences of 0, before the current one"),
    Field("doubts", WHOLE, (), 0, 2, "samples", "wild values in a row until now, not yet confirmed"),
    Field("doubted", REAL, (2,), -2 * n.LARGEST, 2 * n.LARGEST, "signal", "their errors"),
    Field("gap_seen", WHOLE, (n.OCTAVES,), 0, n.MOST, "1", "gaps of 1, 2–3, 4–7, … steps so far"),
    Field("gap_error", REAL, (n.OCTAVES,), 0, n.MOVED, "signal", "largest recent error right after each kind"),
    Field("shrink_ahead", REAL, (2,), -n.MOVED, n.MOVED, "signal", "next change, by the members and shrunk"),
    Field("shrink_weight", REAL, (2,), 0, 1, "probability", "weight of each of them; they add up to 1"),
    Field("shrink_scale", REAL, (2,), 0, n.SQUARED, "signal²", "their discounted mean squared errors"),
    Field("shrink_peak", REAL, (2,), 0, n.SQUARED, "signal²", "largest squared error in this block"),
    Field("shrink_last_peak", REAL, (2,), 0, n.SQUARED, "signal²", "largest squared error in the block before"),
    Field("shrink_sums", REAL, (2,), -1e40, 1e40, "1", "actual and forecast changes times forecast ones, over scales"),
    Field("season_periods", REAL, (2,), 0, n.LONGEST, "samples", "seasons found, the shorter first; 0 for none"),
    Field("season_strength", REAL, (2,), 0, 1, "1", "share of the power that each explains"),
    Field("season_check", WHOLE, (), 0, 2 * n.MOST, "samples", "count at which seasons are looked for next"),
    Field("season_on", WHOLE, (), 0, 1, "flag", "1 while the seasonal members run"),
    Field("season_seen", WHOLE, (), 0, n.MOST, "samples", "values the seasonal readouts have learned from"),
    Field("season_errors", REAL, (len(m.SOLVED) - m.AWAKE,), 0, n.MOVED, "signal", "their mean absolute errors"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "how unusual the newest value makes the recent stretch"),
    Field("alarm_seen", WHOLE, (), 0, n.MOST, "samples", "values ranked so far"),
    Field("alarm_error", REAL, (), 0, n.MOVED, "signal", "mean absolute error of all forecasts"),
    Field("alarm_exact", WHOLE, (), 0, n.MOST, "samples", "exact predictions in a row until now"),
    Field("slow_mean", REAL, (n.SLOW,), -n.MOVED, n.MOVED, "signal, logs", "slow means of level, spread and noise"),
    Field("slow_centre", REAL, (n.SLOW,), -n.MOVED, n.MOVED, "signal, logs", "where each usually is"),
    Field("slow_square", REAL, (n.SLOW,), 0, n.SQUARED, "signal², logs²", "mean square of its distance from there"),
    Field("slow_since", WHOLE, (n.SLOW,), 0, n.MOST, "samples", "values since each was reported, or 0"),
    Field("slow_apart", REAL, (), 0, n.MOVED, "signal", "mean distance of a value from the slow level"),
    Field("alarm_quantity", REAL, (n.QUANTITIES,), -n.MOVED, n.MOVED, "signal", "what is ranked, `ERROR` … `SUM`"),
    Field("alarm_tail", REAL, (n.RANKED,), 0, 1, "probability", "ranks of error, difference, value, level, noise"),
    Field("alarm_size", WHOLE, (n.QUANTITIES,), 0, n.CENTROIDS, "1", "centroids of each sketch in use"),
    Field("alarm_middle", REAL, (n.QUANTITIES, n.CENTROIDS), -n.MOVED, n.MOVED, "signal", "centroids, in rising order"),
    Field("alarm_weight", REAL, (n.QUANTITIES, n.CENTROIDS), 0, n.MOST, "values", "how many values each stands for"),
    Field("alarm_records", WHOLE, (n.QUANTITIES, 2), 0, n.MOST, "values", "how many were least, largest so far"),
    Field("alarm_peak", REAL, (), 0, 100, "log10", "largest sum of ranks in this block"),
    Field("alarm_last_peak", REAL, (), 0, 100, "log10", "largest sum of ranks in the block before"),
    Field("alarm_left", WHOLE, (), 0, n.MOST, "samples", "values until the block is full"),
    # What every value needs comes first, up to the factors of members that never sleep (`Streams.take`).
    Field("factor", REAL, (m.FACTORS,), -n.FACTOR, n.FACTOR, "1/signal", "roots of the solved members' covariances"),
    Field("season_filled", WHOLE, (n.RING // n.FLAGS,), 0, 2**n.FLAGS - 1, "flags", "a bit a place: 1 is missing"),
)
"""All fields. A further one is one more line, if it starts at 0 (else also one of `begin`)."""

CLOCK_FIELDS = (
    Field("count", WHOLE, (), 0, n.MOST, "stamps", "stamps taken"),
    Field("given", WHOLE, (), 0, 1, "flag", "1 where the user gave the step"),
    Field("irregular", WHOLE, (), 0, 1, "flag", "1 where values are brought to the grid by interpolation"),
    Field("strange", WHOLE, (), 0, n.MOST, "stamps", "stamps in a row before the newest, or beyond `longest_hole`"),
    Field("coarse", WHOLE, (), 0, n.MOST, "stamps", "intervals in a row of two steps or more"),
    Field("walked", WHOLE, (), 0, n.MOST, "steps", "steps of holes taken lately, less what values have earned since"),
    Field("dt", REAL, (), 0, n.LONGEST_STEP, "s", "the step, 0 before it is known"),
    Field("last", REAL, (), -n.FARTHEST, n.FARTHEST, "s", "the newest stamp"),
    Field("grid", REAL, (), -n.FARTHEST, n.FARTHEST, "s", "the newest place on the grid"),
    Field("off", REAL, (), 0, 1, "1", "share of recent stamps that were off the grid"),
    Field("fitted", REAL, (), 0, n.MOST, "stamps", "how many stamps phase and step are fitted over"),
    Field("mean_offset", REAL, (), -1e6, 1e6, "steps", "mean of the recent offsets from the grid"),
    Field("mean_square", REAL, (), 0, 1e12, "steps²", "mean square of the recent offsets"),
    Field("recent", REAL, (n.RECENT,), -n.FARTHEST, n.FARTHEST, "s", "the last stamps, at count modulo their number"),
)

SAMPLE_FIELDS = (
    Field("value", REAL, (n.RECENT,), -n.LARGEST, n.LARGEST, "signal", "the last values, beside their stamps", True),
    Field("newest", REAL, (), -n.FARTHEST, n.FARTHEST, "s", "when the last known value came", True),
    Field("known", REAL, (), -n.LARGEST, n.LARGEST, "signal", "that value"),
    Field("beside", REAL, (2,), -1e40, 1e40, "1", "errors times what lies off the grid, or the path, and its square"),
    Field("fit", REAL, (n.CURVES,), 0, n.SQUARED, "signal²", "errors of polynomials of degree 3, 5, … through samples"),
    Field("doubts", WHOLE, (), 0, 2, "samples", "wild samples in a row until now, not yet confirmed"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "the alarm with the newest value", True),
)
"""All means."""

# The table of all constants, and the layouts of all structs.

_S, _W, _L = len(m.SOLVED), len(m.WINDOWS), len(m.LEVELS)
_OF_MEMBERS: list[tuple[str, str, tuple[int, ...]]] = [
    ("short", REAL, (m.LAGS * m.padded(m.SHORTS),)),  # weights of the short members on the lags
    ("reach", PLACE, (m.padded(m.SHORTS) // m.ROW,)),  # how many lags each block of them reads
    ("long", REAL, (_W * m.ORDER * m.padded(m.ORDER + m.LONGS),)),  # z - x₁ du to the new z and to the predictions
    ("block_of", PLACE, (_W,)),  # where a window begins in it
    ("steady", REAL, (_W, m.ORDER)),  # x₁
    ("prior", REAL, (2, m.MEMBERS)),  # asleep and awake
    ("gain", REAL, (m.FIXED,)),  # noise gains
    ("averaging", REAL, (m.FIXED,)),  # rates of the averages of errors
    ("bias_rate", REAL, (m.FIXED,)),  # and of their squares
    ("sloped", WHOLE, (m.FIXED,)),  # whether a member has a slope
    ("short_slope", REAL, (m.LAGS, m.SHORTS)),  # derivative readouts per sample
    ("long_slope", REAL, (_W, m.ORDER, m.LONGS)),
    ("slope_gain", REAL, (m.FIXED,)),  # their noise gains
    ("slope_bias", REAL, (m.FIXED,)),  # the leading error of a slope over that of the same member's prediction
    ("slope_left", REAL, (m.FIXED,)),  # noise variance left in the member's averaged errors
    ("index", PLACE, (_S, m.WIDTH)),  # the features of each solved member
    ("used", PLACE, (_S,)),
    ("stride", PLACE, (_S,)),  # where its factor's rows are
    ("place", PLACE, (_S,)),
    ("longest", WHOLE, (_S,)),  # its oldest lag
    ("needed", REAL, (_S,)),  # samples before it predicts by its own readout
    ("forgetting", REAL, (_S,)),
    ("start", REAL, (_S, m.WIDTH)),  # the readout it begins with
    ("raise_by", REAL, (_L,)),  # factors of a tracked quantile that was passed, or was not
    ("lower_by", REAL, (_L,)),
]


def _of_settings(settings: Group) -> list[Any]:
    """Fields of a record for these numbers; those of a group are a record in a record."""
    found: list[Any] = []
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Group):
            found.append((field.name, _of_settings(value)))
        elif isinstance(value, tuple):
            found.append((field.name, REAL, (len(value),)))
        else:
            found.append((field.name, WHOLE if field.type == "int" else REAL, ()))
    return found


TABLE = [*_OF_MEMBERS, *_of_settings(DEFAULT)]
"""All constants of the step in one record: what follows from the members, and the settings under their own names."""

LAYOUTS: dict[str, list[Any]] = {
    name: [(field.name, field.kind, field.shape) for field in some]
    for name, some in (("Record", FIELDS), ("Clock", CLOCK_FIELDS), ("Samples", SAMPLE_FIELDS))
} | {"Table": TABLE}
"""The C structs by name: what NumPy makes a dtype of, and tools/structs.py a struct. All numbers have eight bytes, so
both lay them out alike."""
