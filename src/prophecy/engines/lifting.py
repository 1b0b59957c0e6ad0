r"""Lifting: a system over a block of L samples is one matrix, by which all engines but the step and the scan multiply.

    [y; x'] = [[K, O], [R, A^L]] [u; x]        # in the time convention of `engines.step`

K (L, L) is lower-triangular Toeplitz with first column `kernel`: kernel[0] = C B + D, kernel[j] = C A^j B. O (L, N) has
rows C A^(i+1), R (N, L) has columns A^(L-1-j) B. Powers are formed by doubling, in float64 whatever the system's dtype,
so L costs O(log L) products and no more rounding than L steps.

The engine "lifted" is `run`. Many series: the samples of a block stand beside the states, (series, L + N), and one
product gives predictions and new states; groups of series run on all cores at once. Few series: the blocks of a stretch
of time are the rows of the products, and the states between them follow in a few products (`_starts`).
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import toeplitz

from prophecy import _machine
from prophecy._arrays import Reals
from prophecy.engines import _threads
from prophecy.system import System

FEW = 24  # fewer series than this make products too thin; their blocks become the rows instead
GROUP = 256  # series of a product
WORK = 1 << 18  # samples of a stretch for few series: a few megabytes of buffers
WALKED = 64  # blocks walked one after another in `_starts`
THREADS = 1 << 17  # samples a thread must get to be worth starting
KEPT = 32  # things kept of the systems run last: matrices for several lengths, whether they are stable


class Lifted(NamedTuple):
    """kernel (L,), observe = O (L, N), reach = R (N, L), power = A^L (N, N), in the system's dtype."""

    kernel: Reals
    observe: Reals
    reach: Reals
    power: Reals


@lru_cache(KEPT)
def is_stable(system: System) -> bool:
    """Whether no mode grows (beyond what 10⁷ steps of rounding would hide)."""
    return bool(np.abs(np.linalg.eigvals(system.A.astype(np.float64))).max() < 1 + 1e-7)


def lift(system: System, length: int) -> Lifted:
    """The block matrices of a system for blocks of `length` samples."""
    A, B, C = (matrix.astype(np.float64) for matrix in (system.A, system.B, system.C))
    reach, observe, power, done = B[:, None], (C @ A)[None, :], A, 1  # reach[:, j] = A^j B for now
    while done < length:
        take = min(done, length - done)
        reach = np.concatenate([reach, power @ reach[:, :take]], axis=1)
        observe = np.concatenate([observe, observe[:take] @ power], axis=0)
        power, done = (power @ power if done * 2 <= length else power), done + take
    kernel = C @ reach
    kernel[0] += system.D
    parts = (kernel, observe, np.ascontiguousarray(reach[:, ::-1]), np.linalg.matrix_power(A, length))
    return Lifted(*(_readonly(part, system.dtype) for part in parts))


@lru_cache(KEPT)
def block_matrix(system: System, length: int) -> Reals:
    """[[K, O], [R, A^L]]ᵀ (L + N, L + N): rows [u, x] times it are rows [y, x']."""
    lifted = lift(system, length)
    K = toeplitz(lifted.kernel, np.zeros(length, system.dtype))
    return _readonly(np.block([[K, lifted.observe], [lifted.reach, lifted.power]]).T.copy(), system.dtype)


def _readonly(array: Reals, dtype: np.dtype[Any]) -> Reals:
    made = array.astype(dtype)
    made.setflags(write=False)
    return made


def run(
    system: System, u: Reals, x: Reals, y: Reals, length: int | None = None, group: int = GROUP, threads: int = THREADS
) -> None:
    """Predictions into y and final states into x, in place. length: samples of a block."""
    (series, time), length = u.shape, length or block_length(system)
    whole = time // length * length
    with _machine.ONE_BLAS_THREAD:
        if whole and series < FEW:
            stretch = max(1, WORK // series // length) * length
            for start in range(0, whole, stretch):
                some = slice(start, min(whole, start + stretch))
                _few(system, u[:, some], x, y[:, some], length, threads)
        elif whole:
            matrix = block_matrix(system, length)
            rows = _threads.shares(series, FEW, group) if series * time >= threads else [slice(None)]
            _threads.over(lambda some: _many(matrix, u[some, :whole], x[some], y[some, :whole]), rows)
        if rest := time - whole:  # a block of their own length
            made = np.concatenate([u[:, whole:].astype(system.dtype), x], axis=1) @ block_matrix(system, rest)
            y[:, whole:], x[:] = made[:, :rest], made[:, rest:]


def block_length(system: System) -> int:
    """Near the fewest operations per sample, 2 L + 4 N + 2 N²/L, at L = N; never so short that overhead rules."""
    return int(np.clip(16 * round(system.order / 16), 64, 256))


def _many(matrix: Reals, u: Reals, x: Reals, y: Reals) -> None:
    length = len(matrix) - x.shape[1]
    joint, made = (np.empty((len(u), len(matrix)), x.dtype) for _ in range(2))
    joint[:, length:] = x
    for start in range(0, u.shape[1], length):
        joint[:, :length] = u[:, start : start + length]
        np.matmul(joint, matrix, out=made)
        y[:, start : start + length] = made[:, :length]
        joint, made = made, joint  # the new states are where the next block wants them
    x[:] = joint[:, length:]


def _few(system: System, u: Reals, x: Reals, y: Reals, length: int, threads: int) -> None:
    (series, time), N = u.shape, system.order
    blocks, matrix = time // length, block_matrix(system, length)
    joint = np.empty((series, blocks, length + N), system.dtype)
    joint[:, :, :length] = u.reshape(series, blocks, length)
    flat = joint.reshape(series * blocks, length + N)
    reach, both = np.ascontiguousarray(matrix[:length, length:]), np.ascontiguousarray(matrix[:, :length])
    power = matrix[length:, length:].T
    added, made = np.empty((len(flat), N), system.dtype), np.empty((len(flat), length), system.dtype)
    cut = _threads.shares(len(flat), least=max(1, threads // length))
    _threads.over(lambda some: np.matmul(flat[some, :length], reach, out=added[some]), cut)
    joint[:, :, length:], x[:] = _starts(added.reshape(series, blocks, N), x, power)
    _threads.over(lambda some: np.matmul(flat[some], both, out=made[some]), cut)
    y[:] = made.reshape(series, time)


def _starts(added: Reals, x: Reals, power: Reals) -> tuple[Reals, Reals]:
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
