"""`prophecy forecast` writes, prints and draws what `prophecy.dynamics.forecast` says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy import cli  # noqa: E402
from prophecy.dynamics import forecast  # noqa: E402

TIME = np.arange(160)
WAVE, BEAT = np.sin(TIME / 5), np.sin(TIME / 7) + 3


@pytest.fixture
def prophecy(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["prophecy", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


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
        expected = forecast(values, 20, 0.8)
        assert np.allclose(made[f"{name}_prediction"], expected.mean, rtol=1e-9)
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
    assert np.allclose(made["prediction"][5:], forecast(BEAT, 5).mean, rtol=1e-9)


def test_joint_means_one_system(prophecy, tmp_path):
    np.save(tmp_path / "d.npy", np.stack([WAVE, BEAT], 1))
    assert prophecy("forecast", tmp_path / "d.npy", "-H", 7, "--joint", "--out", tmp_path / "n.csv")[0] == 0
    expected = forecast(np.stack([WAVE, BEAT], 1), 7)
    made = pd.read_csv(tmp_path / "n.csv")
    assert np.allclose(made[["value0_prediction", "value1_prediction"]], expected.mean, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "magic"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.html", b"<!doctype html>")]
)
def test_pictures_are_pictures_and_pages_need_nothing_else(prophecy, wide, tmp_path, name, magic):
    assert prophecy("forecast", wide, "-H", 10, "-c", "wave", "--plot", tmp_path / name)[0] == 0
    data = (tmp_path / name).read_bytes()
    assert data.startswith(magic)
    assert len(data) > 10_000
    assert b'src="http' not in data
    assert b'href="http' not in data


def test_context_limits_what_is_looked_back_at(prophecy, wide, tmp_path):
    prophecy("forecast", wide, "-H", 5, "-c", "wave", "--context", 50, "--out", tmp_path / "n.csv")
    assert np.allclose(pd.read_csv(tmp_path / "n.csv")["prediction"], forecast(WAVE[-50:], 5).mean, rtol=1e-9)


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
        (("nothing.csv", "-H", 5), 1, "no such file: nothing.csv"),
    ],
)
def test_exit_codes_tell_data_from_usage(prophecy, wide, arguments, code, says):
    got, out, err = prophecy("forecast", *(str(a).format(wide=wide) for a in arguments))
    assert (got, out) == (code, "")
    assert says in err.replace("\n", " ") or says in err
    assert "Traceback" not in err


def test_one_short_series_among_long_ones_gets_what_little_can_be_said(prophecy, tmp_path):
    rows = pd.DataFrame({"g": ["a"] * 160 + ["b"] * 3, "v": [*WAVE, 5.0, 5.0, 5.0]})
    rows.to_csv(tmp_path / "s.csv", index=False)
    assert prophecy("forecast", tmp_path / "s.csv", "--group", "g", "-H", 2, "--out", tmp_path / "n.csv")[0] == 0
    made = pd.read_csv(tmp_path / "n.csv")
    assert made["prediction"][2:].tolist() == [5.0, 5.0]
    pd.DataFrame({"v": [""] * 20, "w": range(20)}).to_csv(tmp_path / "e.csv", index=False)
    code, _, err = prophecy("forecast", tmp_path / "e.csv", "-H", 2, "-c", "v")
    assert code == 1
    assert "'v'" in err


def test_a_header_alone_is_an_error_that_says_so(prophecy, tmp_path):
    (tmp_path / "h.csv").write_text("a,b\n")
    code, _, err = prophecy("forecast", tmp_path / "h.csv", "-H", 5)
    assert code == 1
    assert "h.csv" in err
