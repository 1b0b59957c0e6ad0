"""Sinusoids among the variables, and where in its period each of them is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics.settings import ContextSettings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def hidden_phases(values: Array, known: Mask, how: ContextSettings) -> Array:
    """For every variable that is a sinusoid, the same a quarter of a period later: (time, sinusoids).

    A system driven by a sinusoid and observed together with it is autonomous again once the phase is known.
    """
    none = np.empty((len(values), 0))
    if known.sum() < how.phased or values.shape[1] > how.driven:
        return none
    partners = [partner for column in values.T if (partner := _quarter_later(column, known, how)) is not None]
    return np.column_stack([none, *partners]) if len(partners) < values.shape[1] else none


def _quarter_later(column: Array, known: Mask, how: ContextSettings) -> Array | None:
    """None where a sinusoid leaves more of the column than noise: an oscillation of the system itself has overtones."""
    recent = column[-how.latest :]
    frequency = _frequency(recent - recent.mean())
    times: Array = np.arange(len(column), dtype=np.float64) - len(column) / 2
    there = np.nonzero(known)[0]
    some = there[np.unique(np.linspace(0, len(there) - 1, min(len(there), how.latest)).astype(np.intp))]
    for _ in range(8):
        wave = _wave(frequency * times[some])
        a, b, c = np.linalg.lstsq(wave, column[some], rcond=None)[0]
        rest = column[some] - wave @ np.array([a, b, c])
        slope = times[some] * (b * wave[:, 0] - a * wave[:, 1])
        frequency += float(np.linalg.lstsq(np.column_stack([wave, slope]), rest, rcond=None)[0][3])
    left = float(np.sqrt(np.mean(rest**2)))
    if not 1e-3 < frequency < np.pi - 1e-3 or left > how.sinusoid:
        return None
    from prophecy.dynamics.guesses import roughness  # loads Numba, which `import prophecy` must not

    if left > max(how.sinusoid_clean, how.sinusoid_noise * float(roughness(column[:, None], known)[0])):
        return None
    if left > how.sinusoid_clean and frequency * len(column) < 2 * np.pi * how.sinusoid_periods:
        return None  # through noise any rise that levels off is half a period of a sinusoid
    return np.asarray(_wave(frequency * times) @ np.array([b, -a, 0.0]) / np.sqrt((a * a + b * b) / 2))


def _frequency(recent: Array) -> float:
    """Radians a sample of a sinusoid: of neighbours where these agree with the spectrum, else of its highest peak.

    Neighbours are exact without noise and biased with it; the peak, refined by the parabola through the logarithms of
    three values, is good to a fraction of a period over the whole series either way.
    """
    middle, around = recent[1:-1], recent[2:] + recent[:-2]
    cosine = float(middle @ around) / max(float(2 * middle @ middle), 1e-300)
    near = float(np.arccos(np.clip(cosine, -1, 1)))
    power = np.abs(np.fft.rfft(recent * np.hanning(len(recent)))) ** 2
    peak = int(np.clip(np.argmax(power), 1, len(power) - 2))
    left, top, right = np.log(np.maximum(power[peak - 1 : peak + 2], 1e-300))
    bend = left - 2 * top + right
    far = 2 * np.pi / len(recent) * (peak + (0.5 * (left - right) / bend if bend < 0 else 0.0))
    return near if abs(near - far) * len(recent) < np.pi / 2 else float(far)


def _wave(phase: Array) -> Array:
    return np.column_stack([np.cos(phase), np.sin(phase), np.ones(len(phase))])
