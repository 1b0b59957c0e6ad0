"""Writes sensor.csv, a table to try things on: hourly temperature and humidity of a greenhouse, four weeks.

The numbers are made, not measured: a daily cycle, weather that wanders, a heater that is off on two Sundays, readings
rounded as a cheap sensor does, three hours that were not recorded, and one hour in which the sensor hung at 85.

    python examples/make_sensor.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HOURS = 24 * 28
STUCK = 431  # the hour in which the sensor reports its power-on value
LOST = (200, 201, 202)


def rows() -> list[str]:
    """The lines of the table, names first."""
    rng = np.random.default_rng(7)
    hour = np.arange(HOURS)
    weather = np.zeros(HOURS)
    for k in range(1, HOURS):
        weather[k] = 0.97 * weather[k - 1] + 0.25 * rng.standard_normal()
    sunday = (hour // 24 % 7 == 6) & (hour // 24 > 6)
    sun = np.clip(np.sin(2 * np.pi * (hour % 24 - 6) / 24), 0, None)
    temperature = 17 + 6 * sun + weather - 1.5 * sunday + 0.15 * rng.standard_normal(HOURS)
    humidity = np.clip(92 - 4 * (temperature - 16) + rng.standard_normal(HOURS), 20, 100)
    temperature[STUCK] = 85.0
    times = np.datetime64("2025-03-03T00:00") + hour * np.timedelta64(1, "h")
    lines = ["time,temperature,humidity"]
    for k in range(HOURS):
        if k not in LOST:
            lines.append(f"{str(times[k]).replace('T', ' ')},{temperature[k]:.1f},{humidity[k]:.0f}")
    return lines


if __name__ == "__main__":
    Path(__file__).with_name("sensor.csv").write_text("\n".join(rows()) + "\n")
