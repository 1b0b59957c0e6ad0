"""`prophecy backtest`: how wrong forecasts of a file would have been, beside simple rules."""

from dataclasses import fields, replace
from pathlib import Path

from prophecy.commands import _options
from prophecy.commands._common import Progress, say, show
from prophecy.commands._write import as_table, sink
from prophecy.commands.forecast import read, units_of
from prophecy.frames.columns import Hints
from prophecy.tables.backtesting import SIMPLE, Score, backtest_sources
from prophecy.tables.forecasting import Asked
from prophecy.tables.pictures import Picture, of_backtest, save


@_options.command
def backtest(
    file: str,
    asked: Hints,
    each: Asked,
    folds: int = 5,
    step: int | None = None,
    known: Path | None = None,
    joint: bool = False,
    context: int = 100_000,
    jobs: int | None = None,
    out: Path | None = None,
    plot: Path | None = None,
) -> None:
    """Forecast the last rows from those before them; score this beside the seasonal naive, drift and the mean.

    Examples:
      prophecy backtest power.csv --horizon 48
      prophecy backtest sales.csv --key shop --horizon 12 --folds 3 --out scores.csv --plot sales.html

    The last rows are forecast from those before them, FOLDS times. MAE, RMSE, CRPS and width are in the unit of the
    data, sMAPE in percent, MASE in units of the error of copying the value a season ago. The best of each column has a
    star.
    """
    found, regressors = read(file, asked, context, known)
    units = units_of(found, joint)
    tell = Progress(len(units) * folds, "forecasts").after(0)
    each = replace(each, known=regressors)
    whole = backtest_sources(units, each, folds, step, list(SIMPLE), jobs, tell)
    scores = whole.scores
    errors = {f"{score.model}, series {score.series}: {score.error}" for score in scores if score.error}
    for error in sorted(errors)[:5]:
        say(error)
    with sink(out) as write:
        if write is not None:
            write(as_table({part.name: [getattr(score, part.name) for score in scores] for part in fields(Score)}))
    table = whole.cells()
    if plot is not None:
        save(Picture(f"Backtest of {Path(file).name}", of_backtest(whole), [], table), plot)
    series = len({score.series for score in scores if not score.error})
    show(table, title=f"{series:,} series, {len(whole.cuts)} folds of {whole.horizon} rows")
