"""Hidden variables to start a search from: some are guessed, the last follows, and how well all close ranks them.

A field often has a hidden variable that is simple in the visible one, x: its rate (x' = y), a quotient (x' = x y), or
a leaky integral (y' = a x + b y: the rate of one variable of a system seldom has all the others in it). With such
variables at hand, u = (x, q), or (x, q, p) where there are four, the last one, z, enters the rate r of one of them in
one place: r = A(u) + B(u) z with a polynomial A of degree 2 or 3 and a linear B. For a given B, A is the one that keeps
z small where B vanishes (weighted least squares), and z follows. Whether z is a variable of the system shows in its own
rate: it should be made of the terms of A, and of z and its products. A thousand choices of q and B take some
milliseconds, compiled here; `hidden_guesses.py` makes the choices.
"""

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, isfinite, sqrt
from cython.cimports.libc.stdlib import qsort
from cython.cimports.prophecy.laws.kernels.arrays import doubles, multiply, times_vector, vector_times
from cython.cimports.prophecy.laws.kernels.unrolled import copy, fill, take

FAR = cython.declare(cython.double, 6.0)  # standard deviations: guesses are cut there, poles go on for ever
_POLE = cython.declare(cython.double, 0.1)  # of B's standard deviation: nearer to its zero, z is not used


def _read(pair, hand):
    """The arrays of a `prophecy.laws.hidden_guesses.Pair`, checked."""
    time, m = pair.u.shape
    if time < 2 * MARGIN + 4 or m < 1 or pair.degree not in (2, 3):
        raise ValueError(f"a pair needs {2 * MARGIN + 4} samples and degree 2 or 3, got {time} and {pair.degree}")
    hand.time, hand.m, hand.degree = time, m, pair.degree
    hand.n = 1 + m + m * (m + 1) // 2 + (m * (m + 1) * (m + 2) // 6 if pair.degree > 2 else 0)
    hand.steps = time - 2 * MARGIN - 2
    hand.r = doubles(pair.r, "r", (time,))
    doubles(pair.u, "u", (time, m))
    doubles(pair.sources, "sources", (time, m))
    doubles(pair.leaks, "leaks", (m,))
    return 0


def _hand_room(hand):
    """How many numbers `_hand_for` takes from its room."""
    inside = hand.time - 2 * MARGIN
    return hand.time * hand.m + hand.n * (hand.time + inside) + (hand.n + hand.m + 2) * hand.steps


def _hand_for(hand, room):
    hand.u, hand.phi = take(room, hand.time * hand.m), take(room, hand.n * hand.time)
    hand.inside = take(room, hand.n * (hand.time - 2 * MARGIN))
    hand.over = take(room, (hand.n + hand.m + 2) * hand.steps)


def _closing_room(hand):
    """How many numbers `_closing_for` takes from its room."""
    rows = hand.n + hand.m + 2
    return 4 * hand.time + rows * (hand.time + rows + 1)


def _closing_for(hand, closing, room):
    rows = hand.n + hand.m + 2
    closing.b, closing.z, closing.scratch = take(room, hand.time), take(room, hand.time), take(room, hand.time)
    closing.weights, closing.weighed = take(room, hand.time), take(room, rows * hand.time)
    closing.matrix, closing.right = take(room, rows * rows), take(room, rows)


def _monomials(hand):
    """All monomials of u up to the degree, (n, time), these without the margins, and their integrals over steps."""
    time, m, u, phi = hand.time, hand.m, hand.u, hand.phi
    fill(phi, time, 1.0)
    at = phi + time
    for i in range(m):
        for k in range(time):
            at[k] = u[k * m + i]
        at += time
    for i in range(m):
        for j in range(i, m):
            first, second = phi + (1 + i) * time, phi + (1 + j) * time
            for k in range(time):
                at[k] = first[k] * second[k]
            at += time
            for h in range(j, m if hand.degree > 2 else j):
                third = phi + (1 + h) * time
                for k in range(time):
                    at[k] = first[k] * second[k] * third[k]
                at += time
    for p in range(hand.n):
        copy(hand.inside + p * (time - 2 * MARGIN), phi + p * time + MARGIN, time - 2 * MARGIN)
        _over_steps(phi + p * time, hand.steps, hand.over + p * hand.steps)


def _over_steps(row, steps, out):
    """Integrals of a row over the steps inside the margins, cubic between samples: (steps,)."""
    at = row + MARGIN
    for k in range(steps):
        out[k] = (13 * (at[k] + at[k + 1]) - at[k - 1] - at[k + 2]) / 24


def _left(matrix, right, n, total):
    """What least squares leaves of `total`, by Cholesky's factor of the normal matrix; both are replaced by factors."""
    for i in range(n):
        matrix[i * n + i] = matrix[i * n + i] * (1 + 1e-7) + 1e-12
    for i in range(n):
        row = matrix + i * n
        for j in range(i + 1):
            rest, other = row[j], matrix + j * n
            for m in range(j):
                rest -= row[m] * other[m]
            row[j] = sqrt(max(rest, 1e-300)) if i == j else rest / other[j]
        rest = right[i]
        for m in range(i):
            rest -= row[m] * right[m]
        right[i] = rest / row[i]
        total -= right[i] * right[i]
    return max(total, 0.0)


def _numerator(hand, closing, near):
    """r - A(u), into z, with the A that makes its quotient by b smallest."""
    n, time, inner, b = hand.n, hand.time, hand.time - 2 * MARGIN, closing.b + MARGIN
    for k in range(inner):
        square = b[k] * b[k] + near
        closing.weights[k] = 1.0 / (square * square) if near > 0.0 else 1.0
    for p in range(n):
        row, weighed = hand.inside + p * inner, closing.weighed + p * inner
        for k in range(inner):
            weighed[k] = row[k] * closing.weights[k]
    matrix, right = closing.matrix, closing.right
    multiply(closing.weighed, False, hand.inside, True, n, inner, n, matrix)
    times_vector(closing.weighed, n, inner, hand.r + MARGIN, right)
    _left(matrix, right, n, 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[j * n + i] * right[j]
        right[i] /= matrix[i * n + i]
    vector_times(right, hand.phi, n, time, closing.z)
    for k in range(time):
        closing.z[k] = hand.r[k] - closing.z[k]


def _left_open(hand, closing, near):
    """The share of the rises of z that the integrals over the steps inside the margins do not explain.

    A sample has weight min(b^2 / (9 near), 1), a step the lesser of its two.
    """
    steps, rows, total = hand.steps, hand.n + hand.m + 2, 0.0
    weights, rise, z = closing.weights, closing.scratch, closing.z + MARGIN
    for k in range(steps + 1):
        b = closing.b[MARGIN + k]
        weight = b * b / (9 * near + 1e-300)
        weights[k] = 1.0 if weight > 1.0 else weight
    for k in range(steps):
        # The lesser, or NaN where one of them is.
        weights[k] = weights[k + 1] if weights[k + 1] < weights[k] or weights[k + 1] != weights[k + 1] else weights[k]
        rise[k] = z[k + 1] - z[k]
        total += weights[k] * rise[k] * rise[k]
    for p in range(rows):
        row, weighed = hand.over + p * steps, closing.weighed + p * steps
        for k in range(steps):
            weighed[k] = row[k] * weights[k]
    total += 1e-300
    multiply(closing.weighed, False, hand.over, True, rows, steps, rows, closing.matrix)
    times_vector(closing.weighed, rows, steps, rise, closing.right)
    return _left(closing.matrix, closing.right, rows, total) / total


def _closing(hand, closing, along):
    """z for B = along[:m] @ u - along[m], and the share of its rises left open."""
    time, m, b, z, scratch = hand.time, hand.m, closing.b, closing.z, closing.scratch
    inner, products = time - 2 * MARGIN, hand.over + hand.n * hand.steps
    fill(b, time, -along[m])
    for i in range(m):
        for k in range(time):
            b[k] += along[i] * hand.u[k * m + i]
    near = _POLE * _POLE * _variance(b, time)
    _numerator(hand, closing, near)
    for k in range(time):
        z[k] = z[k] * b[k] / (b[k] * b[k] + near)
    middle = _median(z + MARGIN, inner, scratch)
    for k in range(time):
        z[k] -= middle
        closing.weights[k] = fabs(z[k])
    scale = 1.4826 * _median(closing.weights + MARGIN, inner, scratch) + 1e-300
    for k in range(time):
        value = z[k] / scale
        value = -FAR if value < -FAR else value
        z[k] = FAR if value > FAR else value
    _over_steps(z, hand.steps, products)
    for k in range(time):
        scratch[k] = z[k] * z[k]
    _over_steps(scratch, hand.steps, products + hand.steps)
    for i in range(m):
        for k in range(time):
            scratch[k] = z[k] * hand.u[k * m + i]
        _over_steps(scratch, hand.steps, products + (2 + i) * hand.steps)
    return _left_open(hand, closing, near)


def _mean(values, count):
    total = 0.0
    for k in range(count):
        total += values[k]
    return total / count


def _variance(values, count):
    middle, total = _mean(values, count), 0.0
    for k in range(count):
        total += (values[k] - middle) * (values[k] - middle)
    return total / count


def _median(values, count, scratch):
    """By selection: the lower middle, and the least of those above it. scratch: (count,)."""
    copy(scratch, values, count)
    wanted, low, high = (count - 1) // 2, cython.declare(cython.longlong, 0), count - 1
    while low < high:
        pivot, i, j = scratch[(low + high) // 2], low, high
        while i <= j:
            while scratch[i] < pivot:
                i += 1
            while pivot < scratch[j]:
                j -= 1
            if i <= j:
                scratch[i], scratch[j] = scratch[j], scratch[i]
                i, j = i + 1, j - 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    if count % 2 == 1:
        return scratch[wanted]
    above = scratch[wanted + 1]
    for k in range(wanted + 2, count):
        above = min(above, scratch[k])
    return (scratch[wanted] + above) / 2


def closing(pair, along):
    """z for B = along[:m] @ u - along[m], in robust standard deviations, and the share of its rises left open.

    Rises are compared with integrals of the terms of A, z, and the products of z, taken as cubic between samples; steps
    near B's zero count less.
    """
    along = np.ascontiguousarray(along, dtype=np.float64)
    hand, arrays = cython.declare(AtHand), cython.declare(Closing)
    _read(pair, cython.address(hand))
    time, m = hand.time, hand.m
    work = np.empty(_hand_room(cython.address(hand)) + _closing_room(cython.address(hand)))
    made = np.empty(time)
    room, out = doubles(work, "work", work.shape), doubles(made, "z", made.shape)
    u, line = doubles(pair.u, "u", (time, m)), doubles(along, "along", (m + 1,))
    with cython.nogil:
        _hand_for(cython.address(hand), cython.address(room))
        _closing_for(cython.address(hand), cython.address(arrays), cython.address(room))
        copy(hand.u, u, time * m)
        _monomials(cython.address(hand))
        share = _closing(cython.address(hand), cython.address(arrays), line)
        copy(out, arrays.z, time)
    return made, share


def scan(pair, directions, offsets):
    """(choices of B, m + 2): its coefficients and the share left unexplained. The first is B = 1.

    directions: (count, m), along which B changes; offsets: how many of its zeros are tried along each.
    """
    directions = np.ascontiguousarray(directions, dtype=np.float64)
    hand, arrays = cython.declare(AtHand), cython.declare(Closing)
    _read(pair, cython.address(hand))
    time, m = hand.time, hand.m
    count: cython.longlong = len(directions)
    zeros: cython.longlong = offsets
    if zeros < 2:
        raise ValueError(f"offsets must be at least 2, got {offsets}")
    made = np.zeros((1 + count * zeros, m + 2))
    work = np.empty(_hand_room(cython.address(hand)) + _closing_room(cython.address(hand)) + time + m + 1)
    room, out = doubles(work, "work", work.shape), doubles(made, "out", made.shape)
    u, lines = doubles(pair.u, "u", (time, m)), doubles(directions, "directions", (count, m))
    with cython.nogil:
        _hand_for(cython.address(hand), cython.address(room))
        _closing_for(cython.address(hand), cython.address(arrays), cython.address(room))
        copy(hand.u, u, time * m)
        _monomials(cython.address(hand))
        _scan(cython.address(hand), cython.address(arrays), lines, count, zeros, room, room + time, out)
    return made


def _scan(hand, closing, directions, count, offsets, sums, along, out):
    """The same. sums, along: (time,) and (m + 1,) to work in."""
    time, m = hand.time, hand.m
    last = time - 1
    fill(along, m, 0.0)
    along[m] = -1.0
    copy(out, along, m + 1)
    out[m + 1] = _closing(hand, closing, along)
    for t in range(count):
        fill(sums, time, 0.0)
        for i in range(m):
            along[i] = directions[t * m + i]
            for k in range(time):
                sums[k] += along[i] * hand.u[k * m + i]
        qsort(sums, time, cython.sizeof(cython.double), _order)
        for o in range(offsets):
            along[m] = sums[last * o // (offsets - 1)]
            if o == 0 or o == offsets - 1:  # beyond all samples: no pole
                along[m] += (0.2 if o else -0.2) * (sums[last] - sums[0])
            row = out + (1 + t * offsets + o) * (m + 2)
            copy(row, along, m + 1)
            row[m + 1] = _closing(hand, closing, along)


def _order(one, other):
    first, second = cython.cast(cython.p_double, one)[0], cython.cast(cython.p_double, other)[0]
    return (first > second) - (first < second)


def refine(pair, choice, noise):
    """A choice of `scan` improved by trial: noise (trials, 2 m + 1), steps of B and of the leaks in standard normal
    units. Returns the pair with its leaky integrals as improved, and the choice."""
    noise = np.ascontiguousarray(noise, dtype=np.float64)
    hand, other, arrays = cython.declare(AtHand), cython.declare(AtHand), cython.declare(Closing)
    _read(pair, cython.address(hand))
    time, m = hand.time, hand.m
    trials: cython.longlong = len(noise)
    best, leaks = np.array(choice, dtype=np.float64), np.array(pair.leaks, dtype=np.float64)
    made = np.array(pair.u, dtype=np.float64, order="C")
    work = np.empty(2 * _hand_room(cython.address(hand)) + _closing_room(cython.address(hand)) + 2 * m + 1 + 3 * time)
    room, u = doubles(work, "work", work.shape), doubles(made, "u", (time, m))
    sources, times = doubles(pair.sources, "sources", (time, m)), doubles(leaks, "leaks", (m,))
    chosen, steps = doubles(best, "choice", (m + 2,)), doubles(noise, "noise", (trials, 2 * m + 1))
    with cython.nogil:
        _hand_for(cython.address(hand), cython.address(room))
        other = hand
        _hand_for(cython.address(other), cython.address(room))
        _closing_for(cython.address(hand), cython.address(arrays), cython.address(room))
        copy(hand.u, u, time * m)
        _monomials(cython.address(hand))
        swapped = _refine(
            cython.address(hand),
            cython.address(other),
            cython.address(arrays),
            sources,
            times,
            chosen,
            steps,
            trials,
            room,
        )
        copy(u, other.u if swapped else hand.u, time * m)
    return pair._replace(u=made, leaks=leaks), best


def _refine(hand, other, closing, sources, leaks, best, noise, trials, work):
    """The same, of best and leaks in place; whether the variables as improved are those of `other`. work: (2 m + 1,)
    and (3 time,)."""
    time, m, size = hand.time, hand.m, 0.2
    along, times, values = work, work + m + 1, work + 2 * m + 1
    constant, leaking, swapped = (
        cython.declare(cython.bint, True), cython.declare(cython.bint, False), cython.declare(cython.bint, False),
    )  # fmt: skip
    for i in range(m):
        constant = constant and best[i] == 0.0
        leaking = leaking or (leaks[i] != 0.0 and isfinite(leaks[i]))
    for trial in range(trials if leaking or not constant else 0):
        step, now, there = noise + trial * (2 * m + 1), other if swapped else hand, hand if swapped else other
        copy(along, best, m + 1)
        copy(times, leaks, m)
        if not constant:
            total = 0.0
            for i in range(m):
                along[i] += size * step[i]
                total += along[i] * along[i]
            along[m] += size * step[m]
            for i in range(m):
                along[i] /= sqrt(total)
        if leaking:
            copy(there.u, now.u, time * m)
            for i in range(m):
                if leaks[i] != 0.0 and isfinite(leaks[i]):
                    times[i] *= exp(size * step[m + 1 + i])
                    for k in range(time):
                        values[time + k] = sources[k * m + i]
                    _leaky(values + time, time, times[i], values, values + 2 * time)
                    _unit(values, time)
                    for k in range(time):
                        there.u[k * m + i] = values[k]
            _monomials(there)
        share = _closing(there if leaking else now, closing, along)
        if share < best[m + 1]:
            copy(best, along, m + 1)
            best[m + 1] = share
            copy(leaks, times, m)
            swapped = swapped != leaking
            size *= 1.3
        else:
            size *= 0.93
    return swapped


def _step_means(values, n, out):
    """The mean over each step of the cubic through the samples around it: (n - 1,)."""
    for k in range(n - 1):
        before = values[k - 1] if k > 0 else 2 * values[0] - values[1]
        after = values[k + 2] if k + 2 < n else 2 * values[n - 1] - values[n - 2]
        out[k] = (13 * (values[k] + values[k + 1]) - before - after) / 24


def leaky(values, time):
    """The leaky integral h' = (values - h) / time, time in samples: of the future where negative.

    Undamped where infinite: from 0 where negative, and without the straight line that an unknown mean leaves open where
    positive.
    """
    given = np.array(values, dtype=np.float64)
    n: cython.longlong = len(given)
    if n < 2:
        raise ValueError(f"a leaky integral needs two values, got {n}")
    made, work = np.empty(n), np.empty(n)
    at, out, room = doubles(given, "values", (n,)), doubles(made, "out", (n,)), doubles(work, "work", (n,))
    over: cython.double = time
    with cython.nogil:
        _leaky(at, n, over, out, room)
    return made


def _leaky(values, n, time, out, means):
    """The same; values are turned round in place where time is negative. means: (n,) to work in."""
    backwards: cython.bint = time < 0.0 and isfinite(time)
    if backwards:
        for k in range(n // 2):
            values[k], values[n - 1 - k] = values[n - 1 - k], values[k]
    _step_means(values, n, means)
    out[0] = 0.0
    if not isfinite(time):
        for k in range(n - 1):
            out[k + 1] = out[k] + means[k]
        if time < 0.0:
            return
        middle, above, below, apart = _mean(out, n), 0.0, 0.0, 2.0 / cython.cast(cython.double, n - 1)
        for k in range(n):
            line = 1.0 if k == n - 1 else -1.0 + k * apart
            out[k] -= middle
            above += line * out[k]
            below += line * line
        slope = above / below
        for k in range(n):
            line = 1.0 if k == n - 1 else -1.0 + k * apart
            out[k] -= slope * line
        return
    kept = exp(-1.0 / fabs(time))
    weight, total = 1.0, 0.0
    for k in range(n):  # where it began: the mean of what came first
        out[0] += weight * values[k]
        total += weight
        weight *= kept
    out[0] /= total
    for k in range(n - 1):
        out[k + 1] = kept * out[k] + (1.0 - kept) * means[k]
    if backwards:
        for k in range(n // 2):
            out[k], out[n - 1 - k] = out[n - 1 - k], out[k]


def unit(values):
    """Mean 0 and standard deviation 1, both without the ends, and cut."""
    made = np.array(values, dtype=np.float64)
    n: cython.longlong = len(made)
    if n <= 2 * MARGIN:
        raise ValueError(f"unit needs more than {2 * MARGIN} values, got {n}")
    out = doubles(made, "values", (n,))
    with cython.nogil:
        _unit(out, n)
    return made


def _unit(values, n):
    inner = n - 2 * MARGIN
    middle, deviation = _mean(values + MARGIN, inner), sqrt(_variance(values + MARGIN, inner)) + 1e-300
    for k in range(n):
        value = (values[k] - middle) / deviation
        value = -FAR if value < -FAR else value
        values[k] = FAR if value > FAR else value
