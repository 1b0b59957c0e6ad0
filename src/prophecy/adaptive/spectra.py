"""Fourier transforms and autocorrelations in compiled code, also where values are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophecy._compiled import inner

TRANSFORM = 8192
"""Longest FFT: the recent values and as many lags as the longest season has, rounded up to a power of two."""

_ANGLES = 2.0 * np.pi * np.arange(TRANSFORM // 2) / TRANSFORM
_COS, _SIN = np.cos(_ANGLES), np.sin(_ANGLES)


@inner
def transform(re: Any, im: Any, size: int) -> None:
    """FFT of re + i im in place, by radix 2; `size` is a power of two of at most `TRANSFORM`."""
    j = 0
    for i in range(1, size):
        bit = size >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    width = 2
    while width <= size:
        half, stride = width >> 1, TRANSFORM // width
        for start in range(0, size, width):
            for k in range(half):
                c, s = _COS[k * stride], _SIN[k * stride]
                left, right = start + k, start + k + half
                x = re[right] * c + im[right] * s
                y = im[right] * c - re[right] * s
                re[right], im[right] = re[left] - x, im[left] - y
                re[left] += x
                im[left] += y
        width <<= 1


@inner
def autocorrelations(a: Any, b: Any, top: int, of_a: Any, of_b: Any) -> None:
    """Autocorrelations of two series (n,) at lags 0 … top, corrected for the values that overlap."""
    n = len(a)
    size = 2
    while size < n + top + 1:
        size *= 2
    re, im = np.zeros(size), np.zeros(size)
    re[:n], im[:n] = a, b
    transform(re, im, size)
    for i in range(size // 2 + 1):
        j = (size - i) % size
        power_a = (re[i] + re[j]) ** 2 + (im[i] - im[j]) ** 2
        power_b = (im[i] + im[j]) ** 2 + (re[j] - re[i]) ** 2
        re[i], im[i] = power_a, power_b
        re[j], im[j] = power_a, power_b
    transform(re, im, size)
    for lag in range(top + 1):
        overlap = n / (n - lag)
        of_a[lag] = re[lag] / re[0] * overlap if re[0] > 0.0 else 0.0
        of_b[lag] = im[lag] / im[0] * overlap if im[0] > 0.0 else 0.0


@inner
def of_known(t: Any, r: Any, known: Any, pairs: Any) -> None:
    """Autocorrelations of a series with 0 in place of missing values, made those of its known pairs.

    known (n,): 1 where a value is known, else 0; pairs gets how many pairs each lag has. Lags with fewer than
    `least_pairs` lie on a straight line between their neighbours.
    """
    n, top = len(known), len(r) - 1
    if known.min() > 0.0:
        for lag in range(top + 1):
            pairs[lag] = n - lag
        return
    masks, again = np.zeros(top + 1), np.zeros(top + 1)
    autocorrelations(known, known, top, masks, again)
    before = -1
    for lag in range(top + 1):
        pairs[lag] = masks[lag] * known.sum() * (n - lag) / n
        if pairs[lag] < t.seasons.least_pairs:
            r[lag] = 0.0
            continue
        r[lag] /= masks[lag]
        for between in range(before + 1, lag):
            r[between] = r[before] + (r[lag] - r[before]) * (between - before) / (lag - before) if before >= 0 else 0.0
            pairs[between] = pairs[lag]
        before = lag
    for lag in range(before + 1, top + 1):
        pairs[lag] = 1.0
