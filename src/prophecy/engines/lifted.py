"""The lifted engine: one matrix product per block of samples and group of series (see `lifting`).

    # x has seen u[k] when y[k] is read; y[k] predicts u[k + 1].
    x = A @ x + B * u[k]
    y[k] = C @ x + D * u[k]

Many series: the samples of a block stand beside the states, (series, L + N), and two products with the block matrix
give predictions and new states: one for the first half of the predictions, which do not see the second half of the
samples, one for the rest. Groups of series run on all cores at once. Few series: the blocks of a stretch of time are
the rows of the products, and the states between them follow in a few products (`_starts`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine
from prophecy.engines import _threads, step
from prophecy.engines.lifting import block_matrix, kept, lift
from prophecy.system import System

Array = NDArray[Any]

FEW = 24  # fewer series than this make products too thin; their blocks become the rows instead
WORK = 1 << 18  # samples of a stretch for few series: a few megabytes of buffers
RADIX = 32  # blocks walked one after another in `_starts`
THREADS = 1 << 17  # samples a thread must get to be worth starting


class Setting(NamedTuple):
    """Samples per block, series per group, and samples a thread must get to be worth starting."""

    length: int
    group: int = 256
    threads: int = THREADS


def run(system: System, u: Array, x: Array, y: Array, setting: Setting | None = None) -> None:
    """Predictions into y and final states into x, in place."""
    series, time = u.shape
    setting = setting or default(system)
    if series < FEW:
        with _machine.ONE_BLAS_THREAD:
            for start in range(0, time, WORK // series):
                some = slice(start, min(time, start + WORK // series))
                _few(system, u[:, some], x, y[:, some], setting)
        return
    if time >= setting.length:
        _halves(system, setting.length)  # made here once, not by every thread
    if series * time < setting.threads:
        with _machine.ONE_BLAS_THREAD:
            _many(system, u, x, y, setting.length)
        return
    rows = _threads.shares(series, least=FEW, most=setting.group)
    _threads.over(lambda some: _many(system, u[some], x[some], y[some], setting.length), rows)


def default(system: System) -> Setting:
    """Near the fewest operations per sample, 2 L + 4 N + 2 N²/L, at L = N; never so short that overhead rules."""
    return Setting(int(np.clip(16 * round(system.order / 16), 64, 256)))


def _many(system: System, u: Array, x: Array, y: Array, length: int) -> None:
    series, time = u.shape
    if length > time:
        _tail(system, u, x, y, length)
        return
    early, late = _halves(system, length)
    half, N = length // 2, system.order
    state, rest = slice(half, half + N), slice(half + N, None)
    joint, made = (np.empty((series, N + length), system.dtype) for _ in range(2))
    joint[:, state] = x
    whole = time // length * length
    for start in range(0, whole, length):
        middle, end = start + half, start + length
        joint[:, :half], joint[:, rest] = u[:, start:middle], u[:, middle:end]
        np.matmul(joint[:, : half + N], early, out=made[:, :half])
        np.matmul(joint, late, out=made[:, half:])
        y[:, start:middle], y[:, middle:end] = made[:, :half], made[:, rest]
        joint, made = made, joint  # the new states are where the next block wants them
    x[:] = joint[:, state]
    _tail(system, u[:, whole:], x, y[:, whole:], length)


_turned: WeakKeyDictionary[System, dict[int, tuple[Array, Array]]] = WeakKeyDictionary()


def _halves(system: System, length: int) -> tuple[Array, Array]:
    """The block matrix for rows [first half of u, x, second half of u]: its columns for the first half of y, which does
    not see the second half of u, and the others."""

    def make() -> tuple[Array, Array]:
        half, total = length // 2, length + system.order
        order = np.r_[:half, length:total, half:length]
        matrix = block_matrix(system, length)[np.ix_(order, order)]
        return np.ascontiguousarray(matrix[: half + system.order, :half]), np.ascontiguousarray(matrix[:, half:])

    return kept(_turned.setdefault(system, {}), length, make)


def _few(system: System, u: Array, x: Array, y: Array, setting: Setting) -> None:
    (series, time), length = u.shape, setting.length
    blocks, N = time // length, system.order
    whole = blocks * length
    if blocks:
        matrix, power = block_matrix(system, length), lift(system, length).power
        joint = np.empty((series, blocks, length + N), system.dtype)
        joint[:, :, :length] = u[:, :whole].reshape(series, blocks, length)
        flat = joint.reshape(series * blocks, length + N)
        reach, both = np.ascontiguousarray(matrix[:length, length:]), np.ascontiguousarray(matrix[:, :length])
        added, made = np.empty((len(flat), N), system.dtype), np.empty((len(flat), length), system.dtype)
        cut = _threads.shares(len(flat), least=max(1, setting.threads // length))
        _threads.over(lambda some: np.matmul(flat[some, :length], reach, out=added[some]), cut)
        joint[:, :, length:], x[:] = _starts(added.reshape(series, blocks, N), x, power)
        _threads.over(lambda some: np.matmul(flat[some], both, out=made[some]), cut)
        y[:, :whole] = made.reshape(series, whole)
    _tail(system, u[:, whole:], x, y[:, whole:], length)


def _starts(added: Array, x: Array, power: Array) -> tuple[Array, Array]:
    """States before each block and after the last, from what each adds: x[b + 1] = power x[b] + added[b].

    added (series, blocks, N). Groups of `RADIX` blocks are walked from zero, all groups at once; the groups' starts are
    the same problem with power^RADIX; then each block gets its group's start, carried to it.
    """
    series, blocks, order = added.shape
    if blocks <= 2 * RADIX:
        return _walk(added, x, power)
    groups = blocks // RADIX
    inner = added[:, : groups * RADIX].reshape(series * groups, RADIX, order)
    local, ends = _walk(inner, np.zeros((series * groups, order), added.dtype), power)
    carried = _powers(power.tobytes(), order, power.dtype.str)
    group_starts, last = _starts(ends.reshape(series, groups, order), x, carried[:, -order:].T)
    local += (group_starts.reshape(-1, order) @ carried[:, :-order]).reshape(local.shape)
    rest, final = _walk(added[:, groups * RADIX :], last, power)
    return np.concatenate([local.reshape(series, groups * RADIX, order), rest], axis=1), final


def _walk(added: Array, x: Array, power: Array) -> tuple[Array, Array]:
    states = np.empty_like(added)
    right = np.ascontiguousarray(power.T)
    for block in range(added.shape[1]):
        states[:, block] = x
        x = x @ right + added[:, block]
    return states, x


@lru_cache(maxsize=16)
def _powers(power: bytes, order: int, dtype: str) -> Array:
    """[I, P, P², …, P^RADIX] transposed, side by side, to be multiplied from the right: (N, (RADIX + 1) N)."""
    right = np.frombuffer(power, dtype).reshape(order, order).T.astype(np.float64)
    found = [np.eye(order)]
    for _ in range(RADIX):
        found.append(found[-1] @ right)
    return np.concatenate(found, axis=1).astype(dtype)


def _tail(system: System, u: Array, x: Array, y: Array, length: int) -> None:
    """The last samples, fewer than a block: shorter blocks first, the last few by the plain step."""
    if u.shape[1] >= 16 and length > 16:
        shorter = max(16, length // 4)
        if len(u) < FEW:
            _few(system, u, x, y, Setting(shorter, len(u)))
        else:
            _many(system, u, x, y, shorter)
    elif u.shape[1]:
        step.run(system, u, x, y)
