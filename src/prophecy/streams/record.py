"""What a stream knows, in fixed size: the fields of its record, its clock and its samples, each with meaning, unit and
limits.

A batch is an array of records, saving is writing the array, and a record continues on any machine (`rows`).
"""

from __future__ import annotations

from prophecy.streams import members as m
from prophecy.streams.fields import REAL, WHOLE, Field, documented
from prophecy.streams.limits import (
    AHEAD_FEATURES,
    AHEAD_MEMBERS,
    AHEAD_READOUTS,
    AHEAD_SETS,
    AHEAD_SLOW,
    BLOCKS,
    CENTROIDS,
    DEGREES,
    FLAGS,
    JITTER,
    KEPT,
    LARGEST,
    LARGEST_TIME,
    LOGS,
    LONGEST,
    LONGEST_REST,
    MEANS,
    MOST,
    MOVED,
    OCTAVES,
    QUANTITIES,
    RANKED,
    READINGS,
    RECENT,
    RING,
    SLOW,
    SQUARED,
    TRIES,
)
from prophecy.streams.seasonal import FEATURES as SEASON_FEATURES
from prophecy.streams.seasonal import MEMBERS as SEASONAL
from prophecy.streams.seasonal import STARTS

SEASON_FACTORS = STARTS[-1]
_SOLVED = (len(m.SOLVED),)

FIELDS = (
    Field("hold", WHOLE, (), 0, 1, "flag", "1 where a gap repeats the last value, 0 where it is filled by prediction"),
    Field("count", WHOLE, (), 0, MOST, "samples", "moments since the first value, gaps included"),
    Field("gap", WHOLE, (), 0, MOST, "samples", "values missing since the last known one"),
    Field("known", WHOLE, (), 0, MOST, "samples", "known values"),
    Field("spacing", REAL, (), 1, MOST, "samples", "usual distance between known values"),
    Field("learned", WHOLE, (), 0, MOST, "samples", "values learned from"),
    Field("last", REAL, (), -LARGEST, LARGEST, "signal", "the newest value, or what stands in for it"),
    Field("change", REAL, (), -MOVED, MOVED, "signal", "the next value, predicted, less the newest"),
    Field("mean", REAL, (), -MOVED, MOVED, "signal", "running mean of the values"),
    Field("lag", REAL, (m.LAGS,), -LARGEST, LARGEST, "signal", "the last values, newest first"),
    Field("feature", REAL, (m.FEATURES,), -MOVED, MOVED, "signal", "lags and memories relative to the newest value"),
    Field("alternation", REAL, (2,), -MOVED, MOVED, "signal", "filters that hold what alternates"),
    Field("prediction", REAL, (m.MEMBERS,), -MOVED, MOVED, "signal", "the next change, as each member predicts it"),
    Field("weight", REAL, (m.MEMBERS,), 0, 1, "probability", "weight of each member; they add up to 1"),
    Field("scale", REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "discounted mean squared error of each member"),
    Field("peak", REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("last_peak", REAL, (m.MEMBERS,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("error_scale", REAL, (), 0, SQUARED, "signal²", "discounted mean squared error of the forecast"),
    Field("error_peak", REAL, (), 0, SQUARED, "signal²", "its largest squared error in this block"),
    Field("last_error_peak", REAL, (), 0, SQUARED, "signal²", "its largest squared error in the block before"),
    Field("quantile", REAL, (len(m.LEVELS),), 0, 1e6, "root mean squares", "quantiles of its absolute errors"),
    Field("tail", REAL, (), -1, 4, "1", "how much heavier the tail of its errors is than a normal one's"),
    Field("bias", REAL, (m.FIXED,), -MOVED, MOVED, "signal", "average error of each constructed member"),
    Field("squared_bias", REAL, (m.FIXED,), 0, SQUARED, "signal²", "average of its square"),
    Field("factor", REAL, (m.FACTORS,), -1e107, 1e107, "1/signal", "square roots of the solved members' covariances"),
    Field("growth", REAL, _SOLVED, 1, 1e3, "1", "growth of each factor not yet applied to it"),
    Field("readout", REAL, (len(m.SOLVED), m.WIDTH), -1e200, 1e200, "1", "weights of the solved members"),
    Field("power", REAL, _SOLVED, 0, SQUARED, "signal²", "mean square of each solved member's features"),
    Field("begun", WHOLE, _SOLVED, 0, 1, "flag", "1 where a factor has its prior"),
    Field("drift", REAL, (len(m.WINDOWS), m.ORDER), -MOVED, MOVED, "1", "what a slope of 1 since the gap adds to z"),
    Field("alternation_drift", REAL, (2,), -MOVED, MOVED, "1", "what it adds to the alternations"),
    Field("same", WHOLE, (), 0, MOST, "samples", "values equal to the newest, in a row before it"),
    Field("longest", WHOLE, (), 0, MOST, "samples", "the most equal values in a row, before the current ones"),
    Field("rests", WHOLE, (), 0, MOST, "1", "runs of 16 or more differences of 0, before the current one"),
    Field("tick", REAL, (), 0, MOVED, "signal", "common divisor of the differences so far"),
    Field("tick_hits", WHOLE, (), 0, MOST, "samples", "differences in a row that were multiples of it"),
    Field("tick_misses", WHOLE, (), 0, TRIES, "samples", "differences in a row that were not"),
    Field("doubts", WHOLE, (), 0, 2, "samples", "wild values in a row until now, not yet confirmed"),
    Field("doubted", REAL, (2,), -MOVED, MOVED, "signal", "their errors"),
    Field("withheld", REAL, (2,), -MOVED, MOVED, "signal", "how far each lies beyond what was believed of it"),
    Field("gap_seen", WHOLE, (OCTAVES,), 0, MOST, "1", "unusual gaps of 1, 2–3, 4–7, … steps so far"),
    Field("gap_error", REAL, (OCTAVES,), 0, MOVED, "signal", "largest recent error right after each kind"),
    Field("shrink_ahead", REAL, (2,), -MOVED, MOVED, "signal", "next change, as the members forecast it and shrunk"),
    Field("shrink_weight", REAL, (2,), 0, 1, "probability", "weight of each of them; they add up to 1"),
    Field("shrink_scale", REAL, (2,), 0, SQUARED, "signal²", "their discounted mean squared errors"),
    Field("shrink_peak", REAL, (2,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("shrink_last_peak", REAL, (2,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("shrink_sums", REAL, (2,), -1e40, 1e40, "1", "actual and forecast changes times forecast ones, over scales"),
    Field("season_periods", REAL, (2,), 0, LONGEST, "samples", "seasons found, the shorter first; 0 for none"),
    Field("season_strength", REAL, (2,), -2, 2, "1", "autocorrelations at the seasons"),
    Field("season_check", WHOLE, (), 0, 2 * MOST, "samples", "count at which seasons are looked for next"),
    Field("season_on", WHOLE, (), 0, 1, "flag", "1 while the seasonal members run"),
    Field("season_rest", WHOLE, (), 0, LONGEST_REST, "checks", "checks to skip, since the members did not help"),
    Field("season_rests", WHOLE, (), 0, LONGEST_REST, "checks", "how many were skipped the last time"),
    Field("season_seen", WHOLE, (), 0, MOST, "samples", "values the seasonal readouts have learned from"),
    Field("season_mixed", WHOLE, (), 0, MOST, "samples", "values the seasonal mixture has learned from"),
    Field("season_since", WHOLE, (), 0, MOST, "samples", "values learned from since the last check"),
    Field("season_moves", REAL, (), 0, 1e300, "signal²", "sum of the squared differences since the last check"),
    Field("season_alone", REAL, (), 0, 1e300, "signal²", "sum of the bank's own squared errors since the last check"),
    Field("season_power", REAL, (), 0, SQUARED, "signal²", "mean square of the seasonal features"),
    Field("season_features", REAL, (SEASON_FEATURES,), -MOVED, MOVED, "signal", "lags and seasons, less the newest"),
    Field("season_weights", REAL, (3, SEASON_FEATURES), -1e120, 1e120, "1", "weights of the seasonal readouts"),
    Field("season_factor", REAL, (SEASON_FACTORS,), -1e107, 1e107, "1/signal", "roots of their covariances"),
    Field("season_growth", REAL, (3,), 1, 2, "1", "growth of the roots not yet applied to them"),
    Field("season_size", REAL, (3,), 0, 1e240, "1/signal²", "sums of their squares when it was last applied"),
    Field("season_errors", REAL, (3,), 0, MOVED, "signal", "their mean absolute errors"),
    Field("season_ahead", REAL, (SEASONAL,), -MOVED, MOVED, "signal", "next change, by the bank and each member"),
    Field("season_mix", REAL, (SEASONAL,), 0, 1, "probability", "weight of the bank and of each seasonal member"),
    Field("season_scales", REAL, (SEASONAL,), 0, SQUARED, "signal²", "their discounted mean squared errors"),
    Field("season_peak", REAL, (SEASONAL,), 0, SQUARED, "signal²", "largest squared error in this block"),
    Field("season_last_peak", REAL, (SEASONAL,), 0, SQUARED, "signal²", "largest squared error in the block before"),
    Field("season_sums", REAL, (2,), 0, 1e300, "signal", "absolute errors since the check: the bank's, the mixture's"),
    Field(
        *("season_filled", WHOLE, (RING // FLAGS,), 0, 2**FLAGS - 1, "flags"),
        "a bit for each place of the ring: 1 is missing",
    ),
    Field("season_blocks", WHOLE, (), 0, MOST, "blocks", "means of 32 values taken so far"),
    Field("season_means", REAL, (MEANS,), -MOVED, MOVED, "signal", "the last of them, for long seasons"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "how unusual the newest value makes the recent stretch"),
    Field("alarm_seen", WHOLE, (), 0, MOST, "samples", "values ranked so far"),
    Field("alarm_error", REAL, (), 0, MOVED, "signal", "mean absolute error of all forecasts"),
    Field("alarm_exact", WHOLE, (), 0, MOST, "samples", "exact predictions in a row until now"),
    Field("alarm_log", REAL, (LOGS,), -400, 400, "log signal", "logarithms of the last errors"),
    Field("alarm_sum", REAL, (), -4e4, 4e4, "log signal", "sum of the last 20 of them"),
    Field("slow_mean", REAL, (SLOW,), -MOVED, MOVED, "signal, logs", "slow means of level, spread and noise"),
    Field("slow_centre", REAL, (SLOW,), -MOVED, MOVED, "signal, logs", "where each usually is"),
    Field("slow_square", REAL, (SLOW,), 0, SQUARED, "signal², logs²", "mean square of its distance from there"),
    Field("slow_since", WHOLE, (SLOW,), 0, MOST, "samples", "values since each was reported as far from there, or 0"),
    Field("slow_apart", REAL, (), 0, MOVED, "signal", "mean distance of a value from the slow level"),
    Field(
        "alarm_quantity",
        REAL,
        (QUANTITIES,),
        -MOVED,
        MOVED,
        "signal",
        "error, difference, value, level, noise, sum, place",
    ),
    Field("alarm_tail", REAL, (RANKED,), 0, 1, "probability", "ranks of error, difference, value, level, noise"),
    Field("alarm_size", WHOLE, (QUANTITIES,), 0, CENTROIDS, "1", "centroids of each sketch in use"),
    Field("alarm_middle", REAL, (QUANTITIES, CENTROIDS), -MOVED, MOVED, "signal", "centroids, in rising order"),
    Field("alarm_weight", REAL, (QUANTITIES, CENTROIDS), 0, MOST, "values", "how many values each stands for"),
    Field("alarm_records", WHOLE, (QUANTITIES, 2), 0, MOST, "values", "how many were the least, the largest so far"),
    Field("alarm_before", REAL, (), -MOVED, MOVED, "signal", "mean of the last whole block of 20 values"),
    Field("alarm_change", REAL, (), -MOVED, MOVED, "signal", "mean change from block to block"),
    Field("alarm_square", REAL, (), 0, SQUARED, "signal²", "its mean square"),
    Field("alarm_drift", REAL, (), -MOVED, MOVED, "signal", "drift a value, as far as it is certain"),
    Field("alarm_origin", REAL, (), -MOVED, MOVED, "signal", "sum of these: how far the stream has drifted"),
    Field("alarm_block", REAL, (BLOCKS,), 0, 100, "log10", "largest sum of ranks in each of the last blocks"),
    Field("alarm_place", WHOLE, (), 0, BLOCKS - 1, "1", "the current block"),
    Field("alarm_left", WHOLE, (), 0, MOST, "samples", "values until the block is full"),
)
"""All fields. A further one is one more line, if it starts at 0 (else also one of `begin`)."""

_FARTHEST = 1e7 * LARGEST_TIME
"""Bound of times: stamps of another unit than dt are moved "long ago", up to a million of the longest intervals."""

CLOCK_FIELDS = (
    Field("count", WHOLE, (), 0, MOST, "stamps", "stamps taken"),
    Field("given", WHOLE, (), 0, 1, "flag", "1 where the user gave the step"),
    Field("irregular", WHOLE, (), 0, JITTER, "code", "`ON_GRID`, `RANDOM` or `JITTER`"),
    Field("late", WHOLE, (), 0, MOST, "stamps", "stamps in a row before the newest"),
    Field("coarse", WHOLE, (), 0, MOST, "stamps", "intervals in a row of two steps or more"),
    Field("odd", WHOLE, (), 0, 1, "flag", "1 if anything but single steps came since the last check"),
    Field("jumps", WHOLE, (), 0, MOST, "stamps", "intervals in a row beyond `longest_hole`"),
    Field("walked", WHOLE, (), 0, MOST, "steps", "steps of holes taken lately, less what values have earned since"),
    Field("dt", REAL, (), 0, 10 * LARGEST_TIME, "s", "the step, 0 before it is known"),
    Field("last", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest stamp"),
    Field("grid", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest place on the grid"),
    Field("off", REAL, (), 0, 1, "1", "share of recent stamps that were off the grid"),
    Field("jump", REAL, (), 0, 2 * LARGEST_TIME, "s", "the shortest of the last jumps"),
    Field("found", REAL, (), 0, 10 * LARGEST_TIME, "s", "the step that the last check found"),
    Field("start", REAL, (), -_FARTHEST, _FARTHEST, "s", "the newest place that the last check found"),
    Field("before", REAL, (), -_FARTHEST, _FARTHEST, "s", "the stamp before the first of the last jumps"),
    Field("unit", REAL, (), 0, 2 * LARGEST_TIME, "s", "what stamps are rounded to, 0 where that does not matter"),
    Field("fitted", REAL, (), 0, MOST, "stamps", "how many stamps phase and step are fitted over"),
    Field("mean_offset", REAL, (), -1e6, 1e6, "steps", "mean of the recent offsets from the grid"),
    Field("mean_square", REAL, (), 0, 1e12, "steps²", "mean square of the recent offsets"),
    Field("recent", REAL, (RECENT,), -_FARTHEST, _FARTHEST, "s", "the last stamps, at count modulo their number"),
)

SAMPLE_FIELDS = (
    Field(
        "value", REAL, (RECENT,), -LARGEST, LARGEST, "signal", "the last values as they came, beside their stamps", True
    ),
    Field("newest", REAL, (), -1e37, 1e37, "s", "when the last known value came", True),
    Field("known", REAL, (), -LARGEST, LARGEST, "signal", "that value"),
    Field("seen", WHOLE, (), 0, MOST, "samples", "samples that `fit` was judged by"),
    Field(
        "fit",
        REAL,
        (len(DEGREES),),
        0,
        SQUARED,
        "signal²",
        "errors of samples predicted from their neighbours, by degree",
    ),
    Field(
        *("carry", REAL, (3,), -SQUARED, SQUARED, "signal²"),
        "squared errors of forecasts, errors times distances of the sample before from its path, squares of these",
    ),
    Field("compared", WHOLE, (), 0, MOST, "samples", "values that `reading` was judged by"),
    Field("reading", REAL, (READINGS,), 0, SQUARED, "signal²", "errors by reading: the stamp is noise, or true"),
    Field("doubts", WHOLE, (), 0, 2, "samples", "wild samples in a row until now, not yet confirmed"),
    Field("doubted", REAL, (2,), -MOVED, MOVED, "signal", "their errors"),
    Field("alarm", REAL, (), 0, 1, "1 - probability", "the alarm with the newest value", True),
)
"""All means."""

_SUM = 1e300
"""Bound of sums over a stream."""

_F = AHEAD_FEATURES

AHEAD_FIELDS = (
    Field("seen", WHOLE, (), 0, MOST, "values", "values so far"),
    Field("learned", WHOLE, (), 0, MOST, "values", "values that were predicted and came"),
    Field("period", WHOLE, (2,), 0, LONGEST, "values", "seasons whose lags are read, the shorter first; 0 for none"),
    Field("copied", REAL, (), 0, _SUM, "signal", "sum of the absolute errors of copying"),
    Field("excess", REAL, (), -_SUM, _SUM, "signal", "by how much ours exceeds it"),
    Field("pending", REAL, (), -_SUM, _SUM, "signal", "sum of the distances from the copy that wait to be judged"),
    Field("usual", REAL, (), 0, MOVED, "signal", "mean absolute difference"),
    Field("slow", REAL, (AHEAD_SLOW,), -LARGEST, LARGEST, "signal", "slow means"),
    Field("loss", REAL, (AHEAD_MEMBERS,), 0, _SUM, "signal", "discounted sums of the members' absolute errors"),
    Field("power", REAL, (AHEAD_SETS, _F, _F), -_SUM, _SUM, "signal²", "normal equations: features by features"),
    Field("moment", REAL, (AHEAD_SETS, _F), -_SUM, _SUM, "signal²", "features by the changes that came"),
    Field("weights", REAL, (AHEAD_READOUTS, _F), -_SUM, _SUM, "1", "their solutions"),
    Field("ring", REAL, (KEPT,), -LARGEST, LARGEST, "signal", "the last values"),
)
"""Predictions several values ahead (`ahead`): what is known of all of them."""

WAITING_FIELDS = (
    Field("features", REAL, (_F,), -_SUM, _SUM, "signal", "what it was read from"),
    Field("last", REAL, (), -LARGEST, LARGEST, "signal", "the newest value then", True),
    Field("due", REAL, (AHEAD_MEMBERS,), -_SUM, _SUM, "signal", "as each member predicts it", True),
    Field("mixed", REAL, (), -_SUM, _SUM, "signal", "the prediction", True),
)
"""One prediction that waits for its value."""


if __name__ == "__main__":
    print(documented(FIELDS), documented(CLOCK_FIELDS), documented(SAMPLE_FIELDS), sep="\n\n")
