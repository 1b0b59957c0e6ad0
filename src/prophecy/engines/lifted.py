"""The lifted engine: one matrix product per block of samples and group of series (see `lifting`).

Many series: the samples of a block stand beside the states, (series, L + N), and two products with the block matrix
give predictions and new states: one for the first half of the predictions, which do not see the second half of the
samples, one for the rest. Groups of series run on all cores at once. Few series: the blocks of a stretch of time are
the rows of the products, and the states between them follow in a few products (`_starts`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy import _machine
from prophecy.engines import _threads
from prophecy.engines.lifting import block_matrix, lift, once
from prophecy.system import System

Array = NDArray[Any]

FEW = 24  # fewer series than this make products too thin; their blocks become the rows instead
WORK = 1 << 18  # samples of a stretch for few series: a few megabytes of buffers
WALKED = 64  # blocks walked one after another in `_starts`
THREADS = 1 << 17  # samples a thread must get to be worth starting


class Setting(NamedTuple):
    """Samples per block, series per group, and samples a thread must get to be worth starting."""

    length: int
    group: int = 256
    threads: int = THREADS


def run(system: System, u: Array, x: Array, y: Array, setting: Setting | None = None) -> None:
    """Predictions into y and final states into x, in place."""
    setting = setting or default(system)
    (series, time), length = u.shape, setting.length
    whole = time // length * length
    with _machine.ONE_BLAS_THREAD:
        if whole and series < FEW:
            stretch = max(1, WORK // series // length) * length
            for start in range(0, whole, stretch):
                some = slice(start, min(whole, start + stretch))
                _few(system, u[:, some], x, y[:, some], setting)
        elif whole:
            halves, most = _halves(system, length), setting.group
            rows = _threads.shares(series, FEW, most) if series * time >= setting.threads else [slice(None)]
            _threads.over(lambda some: _many(halves, u[some, :whole], x[some], y[some, :whole]), rows)
        if rest := time - whole:  # a block of their own length
            made = np.concatenate([u[:, whole:].astype(system.dtype), x], axis=1) @ block_matrix(system, rest)
            y[:, whole:], x[:] = made[:, :rest], made[:, rest:]


def default(system: System) -> Setting:
    """Near the fewest operations per sample, 2 L + 4 N + 2 N²/L, at L = N; never so short that overhead rules."""
    return Setting(int(np.clip(16 * round(system.order / 16), 64, 256)))


def _many(halves: tuple[Array, Array], u: Array, x: Array, y: Array) -> None:
    early, late = halves
    half, N = early.shape[1], x.shape[1]
    length = len(late) - N
    state, rest = slice(half, half + N), slice(half + N, None)
    joint, made = (np.empty((len(u), N + length), x.dtype) for _ in range(2))
    joint[:, state] = x
    for start in range(0, u.shape[1], length):
        middle, end = start + half, start + length
        joint[:, :half], joint[:, rest] = u[:, start:middle], u[:, middle:end]
        np.matmul(joint[:, : half + N], early, out=made[:, :half])
        np.matmul(joint, late, out=made[:, half:])
        y[:, start:middle], y[:, middle:end] = made[:, :half], made[:, rest]
        joint, made = made, joint  # the new states are where the next block wants them
    x[:] = joint[:, state]


@once
def _halves(system: System, length: int) -> tuple[Array, Array]:
    """The block matrix for rows [first half of u, x, second half of u]: its columns for the first half of y, which does
    not see the second half of u, and the others."""
    half, total = length // 2, length + system.order
    order = np.r_[:half, length:total, half:length]
    matrix = block_matrix(system, length)[np.ix_(order, order)]
    return np.ascontiguousarray(matrix[: half + system.order, :half]), np.ascontiguousarray(matrix[:, half:])


def _few(system: System, u: Array, x: Array, y: Array, setting: Setting) -> None:
    (series, time), length, N = u.shape, setting.length, system.order
    blocks, matrix = time // length, block_matrix(system, length)
    joint = np.empty((series, blocks, length + N), system.dtype)
    joint[:, :, :length] = u.reshape(series, blocks, length)
    flat = joint.reshape(series * blocks, length + N)
    reach, both = np.ascontiguousarray(matrix[:length, length:]), np.ascontiguousarray(matrix[:, :length])
    added, made = np.empty((len(flat), N), system.dtype), np.empty((len(flat), length), system.dtype)
    cut = _threads.shares(len(flat), least=max(1, setting.threads // length))
    _threads.over(lambda some: np.matmul(flat[some, :length], reach, out=added[some]), cut)
    joint[:, :, length:], x[:] = _starts(added.reshape(series, blocks, N), x, lift(system, length).power)
    _threads.over(lambda some: np.matmul(flat[some], both, out=made[some]), cut)
    y[:] = made.reshape(series, time)


def _starts(added: Array, x: Array, power: Array) -> tuple[Array, Array]:
    """States before each block and after the last, from what each adds: x[b + 1] = power x[b] + added[b].

    added (series, blocks, N). Two blocks are one that adds power added[b] + added[b + 1] under power²: the states
    before even blocks are the same problem, half as long.
    """
    blocks = added.shape[1]
    right, states = np.ascontiguousarray(power.T), np.empty_like(added)
    if blocks <= WALKED:
        for block in range(blocks):
            states[:, block] = x
            x = x @ right + added[:, block]
        return states, x
    pairs = blocks // 2 * 2
    both = added[:, 0:pairs:2] @ right + added[:, 1:pairs:2]
    states[:, 0:pairs:2], x = _starts(both, x, power @ power)
    states[:, 1:pairs:2] = states[:, 0:pairs:2] @ right + added[:, 0:pairs:2]
    if pairs < blocks:
        states[:, -1] = x
        x = x @ right + added[:, -1]
    return states, x
