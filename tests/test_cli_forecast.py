"""`prophecy forecast` writes, prints and draws what `prophecy.forecasting.forecast` says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.commands.forecast import AT_ONCE  # noqa: E402
from prophecy.forecasting import forecast  # noqa: E402

TIME = np.arange(160)
WAVE, BEAT = np.sin(TIME / 5), np.sin(TIME / 7) + 3


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wide.csv"
    pd.DataFrame({"date": pd.date_range("2020-01-01", periods=160), "wave": WAVE, "beat": BEAT}).to_csv(
        path, index=False
    )
    return path


def test_wide_tables_get_three_columns_each_and_go_on_in_time(prophecy, wide, tmp_path):
    code, printed, _ = prophecy("forecast", wide, "--horizon", 20, "--out", tmp_path / "next.csv", "--level", 0.8)
    made = pd.read_csv(tmp_path / "next.csv")
    assert code == 0
    assert made["date"].tolist()[:2] == ["2020-06-09", "2020-06-10"]
    for name, values in (("wave", WAVE), ("beat", BEAT)):
        expected = forecast(values, 20, 0.8, season=(7,))
        assert np.allclose(made[f"{name}_point"], expected.point, rtol=1e-9)
        assert np.allclose(made[f"{name}_lower"], expected.lower, rtol=1e-9)
        assert np.allclose(made[f"{name}_upper"], expected.upper, rtol=1e-9)
        assert name in printed


def test_long_tables_are_forecast_group_by_group(prophecy, tmp_path):
    rows = pd.DataFrame({"shop": np.tile(["a", "b"], 160), "v": np.stack([WAVE, BEAT], 1).reshape(-1)})
    rows.to_parquet(tmp_path / "long.parquet")
    out = tmp_path / "next.parquet"
    assert prophecy("forecast", tmp_path / "long.parquet", "--group", "shop", "-H", 5, "--out", out)[0] == 0
    made = pd.read_parquet(out)
    assert made["shop"].tolist() == ["a"] * 5 + ["b"] * 5
    assert made["step"].tolist() == [1, 2, 3, 4, 5] * 2
    assert np.allclose(made["point"][5:], forecast(BEAT, 5).point, rtol=1e-9)


def test_joint_means_one_system(prophecy, tmp_path):
    np.save(tmp_path / "d.npy", np.stack([WAVE, BEAT], 1))
    assert prophecy("forecast", tmp_path / "d.npy", "-H", 7, "--joint", "--out", tmp_path / "n.csv")[0] == 0
    expected = forecast(np.stack([WAVE, BEAT], 1), 7)
    made = pd.read_csv(tmp_path / "n.csv")
    assert np.allclose(made[["value0_point", "value1_point"]], expected.point, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "magic"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.html", b"<!doctype html>")]
)
def test_pictures_are_pictures_and_pages_need_nothing_else(prophecy, wide, tmp_path, name, magic):
    assert prophecy("forecast", wide, "-H", 10, "-c", "wave", "--plot", tmp_path / name)[0] == 0
    data = (tmp_path / name).read_bytes()
    assert data.startswith(magic)
    assert len(data) > 10_000
    shown = re.sub(rb"<script>.*?</script>", b"", data, flags=re.DOTALL)  # Plotly's own code has credits of maps in it
    assert b'src="http' not in shown
    assert b'href="http' not in shown
    assert b"<script src" not in data
    if name == "p.html":
        assert b"Plotly.react" in data  # zoom, hover and legend, offline
        assert data.count(b"<script") == 2


def test_context_limits_what_is_looked_back_at(prophecy, wide, tmp_path):
    prophecy("forecast", wide, "-H", 5, "-c", "wave", "--context", 50, "--out", tmp_path / "n.csv")
    expected = forecast(WAVE[-50:], 5, season=(7,)).point
    assert np.allclose(pd.read_csv(tmp_path / "n.csv")["point"], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("{wide}",), 2, "--horizon"),
        (("{wide}", "-H", 0), 2, "horizon"),
        (("{wide}", "-H", 5, "--level", 1), 2, "level"),
        (("{wide}", "-H", 5, "--plot", "x.gif"), 2, ".png"),
        (("{wide}", "-H", 5, "--out", "x.xlsx"), 2, ".parquet"),
        (("{wide}", "-H", 5, "--out", "/nowhere/x.csv"), 2, "does not exist"),
        (("{wide}", "-H", 5, "--column", "tide"), 1, "'tide'; it has date, wave, beat"),
        (("{wide}", "-H", 5, "--quantiles", "0.1,2"), 2, "--quantiles must lie between 0 and 1"),
        (("{wide}", "-H", 5, "--season", "week"), 2, "--season takes numbers"),
        (("{wide}", "-H", 5, "--min", 3, "--max", 2), 2, "--min 3 must lie below --max 2"),
        (("{wide}", "-H", 5, "--resume"), 2, "--resume continues the run that was writing --out"),
        (("{wide}", "-H", 5, "--decimal", ";"), 2, "--decimal"),
        (("{wide}", "-H", 5, "--out", "{folder}"), 2, ".parquet"),
        (("nothing.csv", "-H", 5), 1, "no such file: nothing.csv"),
    ],
)
def test_exit_codes_tell_data_from_usage(prophecy, wide, arguments, code, says):
    got, out, err = prophecy("forecast", *(str(a).format(wide=wide, folder=wide.parent) for a in arguments))
    assert (got, out) == (code, "")
    assert says in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_one_short_series_among_long_ones_gets_what_little_can_be_said(prophecy, tmp_path):
    rows = pd.DataFrame({"g": ["a"] * 160 + ["b"] * 3, "v": [*WAVE, 5.0, 5.0, 5.0]})
    rows.to_csv(tmp_path / "s.csv", index=False)
    assert prophecy("forecast", tmp_path / "s.csv", "--group", "g", "-H", 2, "--out", tmp_path / "n.csv")[0] == 0
    made = pd.read_csv(tmp_path / "n.csv")
    assert made["point"][2:].tolist() == [5.0, 5.0]
    pd.DataFrame({"v": [""] * 20, "w": range(20)}).to_csv(tmp_path / "e.csv", index=False)
    code, _, err = prophecy("forecast", tmp_path / "e.csv", "-H", 2, "-c", "v")
    assert code == 1
    assert "'v'" in err


def test_a_header_alone_is_an_error_that_says_so(prophecy, tmp_path):
    (tmp_path / "h.csv").write_text("a,b\n")
    code, _, err = prophecy("forecast", tmp_path / "h.csv", "-H", 5)
    assert code == 1
    assert "h.csv" in err


def test_missing_rows_are_gaps_and_not_evenly_spaced(prophecy, tmp_path):
    """A day's shape with rows missing: taken as evenly spaced, every row after a hole comes at the wrong hour."""
    rng = np.random.default_rng(0)
    hours = np.arange(1000)
    load = 100 + 30 * np.sin(2 * np.pi * hours / 24) + rng.standard_normal(1000)
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=1000, freq="h"), "load": load})
    frame[:900].drop(index=np.arange(800, 890, 7)).to_csv(tmp_path / "gaps.csv", index=False)
    code, _, err = prophecy("forecast", tmp_path / "gaps.csv", "-H", 48, "--out", tmp_path / "n.csv")
    made = pd.read_csv(tmp_path / "n.csv")
    assert code == 0
    assert "887 rows, every hour, 13 missing times filled as gaps" in err
    assert made["when"][0] == "2024-02-07 12:00"
    assert np.abs(made["point"] - load[900:948]).mean() < 3


def test_newest_first_and_german_files_are_forecast_into_the_future(prophecy, tmp_path):
    days = pd.date_range("2024-01-01", periods=60)
    rows = [f"{day:%d.%m.%Y};{1000 + k:_},5".replace("_", ".") for k, day in enumerate(days)]
    (tmp_path / "g.csv").write_bytes("\r\n".join(["Datum;Umsatz (€)", *rows[::-1]]).encode("cp1252"))
    code, _, err = prophecy("forecast", tmp_path / "g.csv", "-H", 2, "--out", tmp_path / "n.csv")
    assert code == 0
    assert "60 rows, every day, reversed (newest first)" in err
    made = pd.read_csv(tmp_path / "n.csv")
    assert made["Datum"].tolist() == ["2024-03-01", "2024-03-02"]
    assert np.allclose(made["point"], [1060.5, 1061.5], atol=0.6)


def test_separate_date_and_time_columns_go_on_as_one(prophecy, tmp_path):
    index = pd.date_range("2024-01-31", periods=96, freq="30min")
    frame = pd.DataFrame(
        {"Date": index.strftime("%d.%m.%Y"), "Time": index.strftime("%H:%M"), "v": np.sin(np.arange(96) / 4)}
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert prophecy("forecast", tmp_path / "d.csv", "-H", 2, "--out", tmp_path / "n.csv")[0] == 0
    made = pd.read_csv(tmp_path / "n.csv")
    assert made.columns.tolist() == ["Date Time", "point", "lower", "upper"]
    assert made["Date Time"].tolist() == ["2024-02-02 00:00", "2024-02-02 00:30"]


def test_quantiles_bounds_seasons_and_jobs_are_passed_on(prophecy, wide, tmp_path):
    arguments = (
        "-c",
        "beat",
        "-H",
        4,
        "--season",
        "44",
        "--min",
        0,
        "--max",
        3.5,
        "--quantiles",
        "0.25,0.75",
        "--jobs",
        2,
    )
    assert prophecy("forecast", wide, *arguments, "--out", tmp_path / "n.parquet")[0] == 0
    made = pd.read_parquet(tmp_path / "n.parquet")
    expected = forecast(BEAT, 4, season=(44.0,), bounds=(0.0, 3.5))
    assert made.columns.tolist() == ["date", "point", "lower", "upper", "q0.25", "q0.75"]
    assert np.allclose(made["q0.25"], expected.quantile(0.25))
    assert np.allclose(made["upper"], expected.upper)


def kept(part):
    """Series in an unfinished run's file so far."""
    return part.read_bytes().count(b"\n") - 1 if part.exists() else 0


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(prophecy, tmp_path):
    keys = [f"s{k:04}" for k in range(12 * AT_ONCE - 10)]  # some seconds of work after the first part is written
    rows = pd.DataFrame({"g": np.repeat(keys, 12), "v": np.tile(np.arange(12.0), len(keys))})
    rows.to_csv(tmp_path / "m.csv", index=False)
    out, part = tmp_path / "n.csv", tmp_path / "n.csv.part"
    call = ("forecast", tmp_path / "m.csv", "--key", "g", "-H", 2, "--out", out, "--jobs", 1)
    prophecy(*call)
    whole = out.read_bytes()
    out.unlink()
    command = [sys.executable, "-m", "prophecy.cli", *map(str, call)]
    while not part.exists():  # again where it was done before the signal came
        out.unlink(missing_ok=True)
        child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        while kept(part) <= AT_ONCE and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=120)
        assert child.returncode in (0, 130), err
    assert child.returncode == 130
    done = int(re.search(rf"(\d+) of {len(keys)} series are in", err)[1])
    assert AT_ONCE <= done < len(keys)
    assert "--resume" in err
    assert not out.exists()
    assert prophecy(*call, "--level", 0.5, "--resume")[0] == 1  # another question has another part
    code, _, err = prophecy(*call, "--resume")
    assert code == 0
    assert f"{done} of {len(keys)} series were done already" in err
    assert out.read_bytes() == whole
    assert not part.exists()


def test_one_hopeless_series_does_not_stop_the_others(prophecy, tmp_path):
    rows = pd.DataFrame({"g": ["a"] * 20 + ["b"] * 20, "v": [*np.arange(20.0), *[np.nan] * 20]})
    rows.to_csv(tmp_path / "m.csv", index=False)
    code, printed, err = prophecy("forecast", tmp_path / "m.csv", "--key", "g", "-H", 2, "--out", tmp_path / "n.csv")
    assert code == 0
    assert "series b · v:" in err
    assert pd.read_csv(tmp_path / "n.csv")["g"].tolist() == ["a", "a"]
    assert "a · v" in printed


NASTY = [
    "flow [/min]",
    "Power [kW]",
    "[bold red]x[/]",
    "cost $/h and $x^2$",
    "bell\x07 \x1b[31mred",
    ":smile: <b>bold</b>",
]


@pytest.mark.parametrize("command", [("forecast", "-H", "3"), ("backtest", "-H", "3", "--folds", "2")])
@pytest.mark.parametrize("picture", ["p.png", "p.html"])
def test_names_are_data_everywhere(prophecy, tmp_path, command, picture):
    pd.DataFrame({name: WAVE[:60] + k for k, name in enumerate(NASTY)}).to_csv(tmp_path / "n.csv", index=False)
    code, printed, err = prophecy(
        *command, tmp_path / "n.csv", "--plot", tmp_path / picture, "--out", tmp_path / "o.csv"
    )
    assert code == 0
    if command[0] == "forecast":
        for name in NASTY[:4]:
            assert name in printed
        assert pd.read_csv(tmp_path / "o.csv").columns[1] == "flow [/min]_point"
    assert "\x1b" not in printed + err
    assert "\x07" not in printed + err
    assert (tmp_path / picture).stat().st_size > 10_000


def test_out_through_a_link_writes_what_it_points_to(prophecy, wide, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "n.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "n.csv")
    assert prophecy("forecast", wide, "-H", 2, "--out", tmp_path / "link.csv")[0] == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real" / "n.csv").read_text().startswith("date,")


def test_a_closed_stdout_is_no_traceback(wide):
    import subprocess

    for shell in ("exec >&-; ", "", "exec >&- 2>&-; "):
        tail = " | true" if not shell else ""
        code = f"{shell}{sys.executable} -m prophecy.cli forecast {wide} -H 2{tail}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
        assert "Traceback" not in done.stderr


def test_what_is_known_in_advance_is_read_by_time_and_key(prophecy, tmp_path):
    days = pd.date_range("2024-01-01", periods=63)
    holiday = (np.arange(63) % 9 == 4).astype(float)
    sold = 100 + 40 * holiday + np.random.default_rng(0).standard_normal(63)
    pd.DataFrame({"day": days[:60], "sold": sold[:60]}).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame({"day": days, "holiday": holiday}).sample(frac=1, random_state=1).to_csv(
        tmp_path / "k.csv", index=False
    )
    call = ("forecast", tmp_path / "s.csv", "-H", 3, "--out", tmp_path / "n.csv")
    code, _, err = prophecy(*call, "--known", tmp_path / "k.csv")
    assert code == 0
    assert "regressors holiday" in err
    pd.DataFrame({"day": days[:61], "holiday": holiday[:61]}).to_csv(tmp_path / "short.csv", index=False)
    code, _, err = prophecy(*call, "--known", tmp_path / "short.csv")
    assert code == 1
    assert "known has no row for 2024-03-02" in err
    keyed = pd.DataFrame({"day": [*days, *days], "shop": ["a"] * 63 + ["b"] * 63, "price": np.arange(126.0)})
    keyed.to_csv(tmp_path / "keyed.csv", index=False)
    code, _, err = prophecy(*call, "--known", tmp_path / "keyed.csv")
    assert code == 1
    assert "holds many series: times in 'day' repeat" in err


def test_what_is_known_in_advance_is_read_in_the_zone_of_the_file(prophecy, tmp_path):
    hours = pd.date_range("2024-10-26", periods=63, freq="h", tz="Europe/Berlin").tz_localize(None)
    busy = (np.arange(63) % 9 == 4).astype(float)
    load = 100 + 40 * busy + np.random.default_rng(0).standard_normal(63)
    pd.DataFrame({"time": hours[:60], "load": load[:60]}).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame({"time": hours, "busy": busy}).to_csv(tmp_path / "k.csv", index=False)
    call = ("forecast", tmp_path / "s.csv", "-H", 3, "--time-zone", "Europe/Berlin", "--out", tmp_path / "n.csv")
    code, _, err = prophecy(*call, "--known", tmp_path / "k.csv")
    assert (code, "regressors busy" in err) == (0, True), err
    assert np.allclose(pd.read_csv(tmp_path / "n.csv")["point"], load[60:], atol=5)


def test_backtests_print_write_and_draw_every_score(prophecy, wide, tmp_path):
    from prophecy import backtest

    code, printed, err = prophecy(
        "backtest",
        wide,
        "-c",
        "wave",
        "-H",
        10,
        "--folds",
        3,
        "--out",
        tmp_path / "s.csv",
        "--plot",
        tmp_path / "b.svg",
    )
    assert code == 0
    assert "160 rows, every day" in err
    made = pd.read_csv(tmp_path / "s.csv")
    expected = backtest(
        pd.Series(WAVE, index=pd.date_range("2020-01-01", periods=160), name="wave"), 10, folds=3
    ).to_frame()
    assert np.allclose(made["mae"], expected["mae"])
    assert made["cutoff"].tolist() == expected["cutoff"].tolist()
    assert "seasonal naive" in printed
    code, _, err = prophecy("backtest", wide, "-H", 100)
    assert code == 1
    assert "160 rows are too few for 5 folds of 100 rows; use folds=1" in err


def test_a_series_too_short_for_its_folds_does_not_stop_the_others(prophecy, tmp_path):
    rows = pd.DataFrame({"g": ["new"] * 5 + ["a"] * 40, "v": [*range(5), *np.sin(np.arange(40.0))]})
    rows.to_csv(tmp_path / "m.csv", index=False)
    asked = "backtest", tmp_path / "m.csv", "--key", "g", "-H", 4, "--folds", 2
    code, printed, err = prophecy(*asked, "--out", tmp_path / "s.csv", "--plot", tmp_path / "b.svg")
    assert code == 0
    assert "series new · v: 5 rows are too few for 2 folds of 4 rows" in err
    assert "1 series, 2 folds of 4 rows" in printed
    made = pd.read_csv(tmp_path / "s.csv")
    assert made.loc[made["error"].isna(), "series"].unique().tolist() == ["a · v"]
    code, _, err = prophecy(*asked[:-1], 20)
    assert code == 1
    assert "series 'new · v': 5 rows are too few" in err


def test_a_single_row_is_refused_at_once(prophecy, tmp_path):
    (tmp_path / "one.csv").write_text("time,v\n2020-01-01,5\n")
    code, _, err = prophecy("forecast", tmp_path / "one.csv", "-H", 2, "--plot", tmp_path / "p.png")
    assert code == 1
    assert "1 value cannot be forecast from; give at least 2" in err


def test_commands_load_no_models_before_their_file_has_been_read():
    for command in ("forecast", "backtest", "equations"):
        code = f"import sys, prophecy.commands.{command}; print('prophecy.forecasting' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
