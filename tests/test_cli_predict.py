"""`prophecy predict` and `prophecy anomalies`: what they write is what the models say, row by row, cut by cut."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy import Prophecy  # noqa: E402
from prophecy.commands.predict import Tracker, followed  # noqa: E402
from prophecy.commands.predict import baselines as copy_and_line  # noqa: E402
from reproduction import baselines  # noqa: E402

RNG = np.random.default_rng(0)
WAVE = np.sin(np.arange(400) / 9) + 0.02 * RNG.standard_normal(400)
STEPS = np.cumsum(RNG.standard_normal(400))
PARTS = ["point", "lower", "upper", "residual", "score"]


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "wide.csv"
    pd.DataFrame({"time": np.arange(400), "wave": WAVE, "steps": STEPS}).to_csv(path, index=False)
    return path


def test_a_rows_prediction_is_what_prophecy_said_before_it_came(prophecy, wide, tmp_path):
    code, printed, _ = prophecy("predict", wide, "-c", "wave", "--level", 0.8, "--out", tmp_path / "o.csv")
    assert code == 0
    made = pd.read_csv(tmp_path / "o.csv")
    assert made.columns.tolist() == ["time", "wave", "steps", *PARTS]
    model = Prophecy()
    for k, value in enumerate(WAVE):
        row = made.iloc[k]
        if k:
            ahead = model.predict(0.8)
            assert np.isclose(row["point"], ahead.point, rtol=1e-12)
            assert np.isclose(row["score"], model.score(value), rtol=1e-9, atol=1e-12)
            if k > 1:
                assert np.allclose(row[["lower", "upper"]].astype(float), [ahead.lower, ahead.upper], rtol=1e-9)
        model.observe(value)
    assert np.allclose(made["residual"][1:], WAVE[1:] - made["point"][1:])
    assert made["point"].isna().tolist() == [True] + [False] * 399
    assert "wave" in printed


def test_the_table_of_errors_is_right(prophecy, wide, tmp_path):
    _, printed, _ = prophecy("predict", wide, "-c", "wave", "--out", tmp_path / "o.csv")
    made = pd.read_csv(tmp_path / "o.csv")
    cells = printed.splitlines()[2].split()
    ours = np.abs(made["residual"])[2:].mean()
    copy = np.abs(WAVE[1:] - baselines.copy(WAVE)[:-1])[1:].mean()
    line = np.abs(WAVE[1:] - baselines.line(WAVE)[:-1])[1:].mean()
    assert cells[:2] == ["wave", "400"]
    assert np.allclose([float(cell) for cell in cells[2:5]], [ours, copy, line], rtol=1e-3)
    assert "times smaller" in printed


@pytest.mark.parametrize("horizon", [1, 3])
def test_long_wide_and_npy_tables_say_the_same_about_the_same_series(prophecy, wide, tmp_path, horizon):
    rows = pd.DataFrame({"who": ["wave", "steps"] * 400, "value": np.stack([WAVE, STEPS], 1).reshape(-1)})
    rows.to_parquet(tmp_path / "long.parquet")
    np.save(tmp_path / "d.npy", np.stack([WAVE, STEPS], 1))
    prophecy("predict", wide, "-H", horizon, "--out", tmp_path / "wide.parquet")
    prophecy("predict", tmp_path / "long.parquet", "--group", "who", "-H", horizon, "--out", tmp_path / "l.csv.gz")
    prophecy("predict", tmp_path / "d.npy", "-H", horizon, "--out", tmp_path / "n.csv")
    by_column, by_group = pd.read_parquet(tmp_path / "wide.parquet"), pd.read_csv(tmp_path / "l.csv.gz")
    by_number = pd.read_csv(tmp_path / "n.csv")
    for i, name in enumerate(["wave", "steps"]):
        for part in PARTS:
            expected = by_column[f"{name}_{part}"].to_numpy()
            assert np.allclose(by_group[by_group["who"] == name][part], expected, rtol=1e-9, equal_nan=True)
            assert np.allclose(by_number[f"value{i}_{part}"], expected, rtol=1e-9, equal_nan=True)


def test_gaps_are_predicted_through(prophecy, tmp_path):
    values = pd.Series(WAVE)
    values[[100, 101, 102]] = np.nan
    values.to_frame("v").to_csv(tmp_path / "g.csv", index=False, na_rep="NA")
    for horizon in (1, 2):
        prophecy("predict", tmp_path / "g.csv", "-H", horizon, "--out", tmp_path / "o.parquet")
        made = pd.read_parquet(tmp_path / "o.parquet")
        assert made["point"].isna().sum() == horizon
        assert made["residual"].isna().sum() == horizon + 3
        assert np.abs(made["residual"][150:]).max() < 0.2


@pytest.mark.parametrize("horizon", [1, 4])
def test_it_beats_copy_and_line_where_there_is_something_to_gain(horizon):
    values = np.sin(np.arange(5000) / 40) + 0.02 * np.random.default_rng(1).standard_normal(5000)
    said = followed("", values, None, 0.9, horizon).said
    copy, line = copy_and_line(values, horizon)
    ours = np.abs(said.residual[600:]).mean()
    assert ours < 0.85 * min(np.abs(copy[600:]).mean(), np.abs(line[600:]).mean())
    covered = (values >= said.lower) & (values <= said.upper)
    assert 0.86 < covered[600:].mean() < 0.94


def test_error_curves_hold_every_error():
    values = np.random.default_rng(3).standard_normal(9000)
    made = Tracker(followed("", values, None, 0.9), 1, 0.9)
    where, size = made.curves()
    assert len(where) <= 20
    assert 0 < where[0] < where[-1] < 9000
    copied = np.diff(values)
    assert np.isclose(np.nansum(made.errors[:, 1] ** 2), (copied**2).sum())
    assert np.isclose(np.mean(size[:, 1] ** 2), np.mean(copied**2), rtol=0.02)
    assert np.isclose(made.mean_errors()["copy"], np.abs(copied[1:]).mean())


@pytest.mark.parametrize("name", ["p.png", "p.svg", "p.html"])
def test_pictures_are_drawn_with_dates_and_many_series(prophecy, tmp_path, name):
    frame = pd.DataFrame({f"s{i}": WAVE * i for i in range(6)})
    frame.insert(0, "date", pd.date_range("2021", periods=400, freq="h"))
    frame.to_csv(tmp_path / "many.csv", index=False)
    for command in ("predict", "anomalies"):
        code, _, err = prophecy(command, tmp_path / "many.csv", "--plot", tmp_path / name)
        assert (code, err) == (0, f"prophecy {command}: many.csv: 400 rows, every hour\n")
        assert (tmp_path / name).stat().st_size > 10_000


def test_anomalies_find_the_strange_rows_and_few_others(prophecy, tmp_path):
    values = np.sin(np.arange(3000) / 15) + 0.05 * np.random.default_rng(4).standard_normal(3000)
    values[[1000, 2000]] += [1.0, -1.5]
    pd.DataFrame({"time": np.arange(3000) * 0.1, "v": values}).to_csv(tmp_path / "a.csv", index=False)
    code, printed, _ = prophecy("anomalies", tmp_path / "a.csv", "--out", tmp_path / "o.csv")
    assert code == 0
    made = pd.read_csv(tmp_path / "o.csv")
    flagged = set(made.index[made["flagged"] == 1])
    assert {1000, 2000} <= flagged
    assert len(flagged) < 20
    assert "of 3,000 rows flagged" in printed
    rows = [line.split()[2] for line in printed.splitlines()[2:] if line.split()[0].isdigit()]
    assert {"1000", "2000"} <= set(rows)
    assert rows == sorted(rows, key=int)  # in the order of the file


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("predict",), 2, "Missing argument"),
        (("predict", "{wide}", "--horizon", 0), 2, "horizon"),
        (("predict", "{wide}", "--model", "quick"), 2, "No such option"),
        (("predict", "{wide}", "--plot", "p.pdf"), 2, ".png"),
        (("predict", "{wide}", "--group", "who"), 1, "no key column 'who'"),
        (("predict", "{missing}"), 1, "no such file"),
        (("predict", "{empty}"), 1, "empty"),
        (("predict", "{wide}", "--out", "{wide}"), 2, "--out would replace the file that is read"),
        (("anomalies", "{wide}", "--rate", 0), 2, "--rate"),
        (("anomalies", "{missing}"), 1, "no such file"),
    ],
)
def test_mistakes_have_exit_codes_and_no_traceback(prophecy, wide, tmp_path, arguments, code, says):
    (tmp_path / "empty.csv").write_text("")
    names = {"wide": wide, "missing": tmp_path / "missing.csv", "empty": tmp_path / "empty.csv"}
    got, out, err = prophecy(*(str(argument).format(**names) for argument in arguments))
    assert (got, out) == (code, "")
    assert says in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.parametrize("dates", [False, True])
def test_uneven_times_are_used_and_said(prophecy, tmp_path, dates):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.2, 1.8, 600))
    values = np.sin(times / 6)
    column = pd.Timestamp("2024-01-01") + pd.to_timedelta(times, unit="s") if dates else times
    frame = pd.DataFrame({"time": column, "v": values})
    frame.to_csv(tmp_path / "u.csv", index=False)
    code, _, err = prophecy("predict", tmp_path / "u.csv", "--out", tmp_path / "o.csv")
    assert code == 0
    assert "times are uneven: each row is predicted for the time it came at" in err
    uneven = pd.read_csv(tmp_path / "o.csv")["residual"][100:].abs().mean()
    frame[["v"]].to_csv(tmp_path / "n.csv", index=False)
    prophecy("predict", tmp_path / "n.csv", "--out", tmp_path / "o.csv")
    assert uneven < 0.1 * pd.read_csv(tmp_path / "o.csv")["residual"][100:].abs().mean()
    code, _, err = prophecy("predict", tmp_path / "u.csv", "-H", 2)
    assert code == 1
    assert "series v: the times are uneven" in err
    assert prophecy("predict", tmp_path / "u.csv", "--irregular", "-H", 2)[0] == 2
    code, _, err = prophecy("anomalies", tmp_path / "n.csv", "--irregular")
    assert code == 1
    assert "--time" in err


@pytest.mark.parametrize("command", ["predict", "anomalies"])
def test_rows_out_of_order_and_missing_are_put_right_and_said(prophecy, tmp_path, command):
    ordered = pd.DataFrame({"time": pd.date_range("2024-01-01", periods=400, freq="h"), "v": WAVE})
    holes = ordered.drop(index=[100, 101, 250])
    ordered.assign(v=ordered["v"].where(ordered.index.isin(holes.index))).to_csv(tmp_path / "gaps.csv", index=False)
    prophecy(command, tmp_path / "gaps.csv", "--out", tmp_path / "expected.parquet")
    expected = pd.read_parquet(tmp_path / "expected.parquet").loc[holes.index].reset_index(drop=True)
    for rows, fact in (
        (holes, ""),
        (holes[::-1], ", reversed (newest first)"),
        (holes.sample(frac=1, random_state=0), ", sorted"),
    ):
        rows.to_csv(tmp_path / "x.csv", index=False)
        code, _, err = prophecy(command, tmp_path / "x.csv", "--out", tmp_path / "o.parquet")
        assert (code, err) == (
            0,
            f"prophecy {command}: x.csv: 397 rows, every hour, 3 missing times taken as gaps{fact}\n",
        )
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "o.parquet"), expected)


@pytest.mark.parametrize("command", ["predict", "anomalies"])
def test_doubled_times_are_refused_with_their_values_until_a_key_tells_them_apart(prophecy, tmp_path, command):
    ordered = pd.DataFrame({"time": pd.date_range("2024-01-01", periods=40, freq="h"), "v": np.arange(40.0)})
    twice = pd.concat([ordered.assign(who="a"), ordered.assign(who="b", v=-ordered["v"])])
    twice.to_csv(tmp_path / "long.csv", index=False)
    code, _, err = prophecy(command, tmp_path / "long.csv")
    assert code == 1
    assert "times in 'time' repeat, and 'who' tells their rows apart; say --key 'who'" in err
    assert "or average rows of one time with --duplicates mean" in err
    code, _, err = prophecy(command, tmp_path / "long.csv", "--group", "who")
    assert (code, err) == (0, f"prophecy {command}: long.csv: 80 rows, every hour\n")


@pytest.mark.parametrize("command", ["predict", "anomalies"])
def test_missing_times_of_several_columns_are_counted_once(prophecy, tmp_path, command):
    frame = pd.DataFrame({"time": pd.date_range("2024-01-01", periods=400, freq="h"), "v": WAVE, "w": -WAVE})
    frame.drop(index=range(90, 100)).to_csv(tmp_path / "x.csv", index=False)
    _, _, err = prophecy(command, tmp_path / "x.csv")
    assert "390 rows, every hour, 10 missing times taken as gaps" in err


def test_a_column_called_prediction_is_not_doubled(prophecy, tmp_path):
    pd.DataFrame({"point": STEPS, "v": WAVE}).to_csv(tmp_path / "p.csv", index=False)
    assert prophecy("predict", tmp_path / "p.csv", "-c", "v", "--out", tmp_path / "o.csv")[0] == 0
    columns = (tmp_path / "o.csv").read_text().splitlines()[0].split(",")
    assert columns == ["point", "v", *(f"prophecy_{part}" for part in PARTS)]


@pytest.mark.parametrize("command", ["predict", "anomalies"])
def test_names_are_data(prophecy, tmp_path, command):
    names = ["flow [/min]", "Power [kW]", "cost $/h and $x$", "bell\x07 \x1b[31mred"]
    values = np.where(np.arange(400) == 300, 50.0, WAVE)
    pd.DataFrame(dict.fromkeys(names, values)).to_csv(tmp_path / "n.csv", index=False)
    for picture in ("p.png", "p.html"):
        code, printed, err = prophecy(command, tmp_path / "n.csv", "--plot", tmp_path / picture)
        assert code == 0
        assert all(name in printed for name in names[:3])
        assert "\x1b" not in printed + err


def test_bad_rows_far_down_leave_no_file_behind(prophecy, tmp_path):
    (tmp_path / "bad.csv").write_text("v\n" + "1\n" * 5000 + "oops\n" * 5000)
    code, _, err = prophecy("predict", tmp_path / "bad.csv", "--out", tmp_path / "o.csv")
    assert code == 1
    assert "oops" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv"]


def test_exact_duplicates_are_dropped_and_said(prophecy, tmp_path):
    rows = [f"2024-01-{day:02d},{day % 5}" for day in range(1, 29)]
    (tmp_path / "x.csv").write_text("\n".join(["day,v", *rows[:10], rows[9], *rows[10:], rows[-1]]) + "\n")
    (tmp_path / "y.csv").write_text("\n".join(["day,v", *rows]) + "\n")
    for name in ("x", "y"):
        code, _, err = prophecy("predict", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.out.csv")
        assert code == 0, err
        assert ("2 exact duplicates dropped" in err) == (name == "x")
    assert (tmp_path / "x.out.csv").read_text() == (tmp_path / "y.out.csv").read_text()
