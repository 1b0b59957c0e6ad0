"""How steps of a flow depend on their start and on the parameters of the field."""

import cython
from cython.cimports.prophecy.laws.kernels.arrays import indices
from cython.cimports.prophecy.laws.kernels.unrolled import (
    copy,
    evaluate,
    evaluate_slopes,
    fill,
    leading,
    slope_along,
    take,
)


def read_parameters(terms, chosen, whose, derivatives, derived):
    """Which parameters there are derivatives with, checked; none at all where these are not wanted."""
    v = terms.variables
    derived.parameters = len(chosen)
    derived.columns = v + derived.parameters if derivatives else 0
    derived.chosen = indices(chosen, "chosen", (derived.parameters,))
    derived.whose = indices(whose, "whose", (derived.parameters,))
    for c in range(derived.parameters):
        owner = derived.whose[c]
        there = terms.size if owner >= 0 else terms.functions
        if not (0 <= derived.chosen[c] < there and -2 - v - v * v < owner < v):
            raise ValueError(f"parameter {c} is none of the field: chosen {derived.chosen[c]}, whose {owner}")
    return 0


def derived_room(terms, tableau, lanes, columns):
    """How many numbers `derived_for` takes from its room."""
    v, size, factors, stages = terms.variables, terms.size, terms.variables + terms.functions, tableau.count
    stagewise = stages * (size + v + v * factors + 2 * v * v)
    derived = size * factors + (stagewise + size * factors + v * v + v + v * columns) * lanes
    return derived if columns > 0 else 0


def derived_for(terms, tableau, lanes, derived, room):
    v, size, factors, stages = terms.variables, terms.size, terms.variables + terms.functions, tableau.count
    derived.leads = cython.cast(cython.p_longlong, take(room, size * factors))
    derived.phi, derived.dphi = take(room, stages * size * lanes), take(room, size * factors * lanes)
    derived.at, derived.jacobian = take(room, stages * v * lanes), take(room, stages * v * factors * lanes)
    derived.answer, derived.through = take(room, stages * v * v * lanes), take(room, stages * v * v * lanes)
    derived.whole, derived.column = take(room, v * v * lanes), take(room, v * lanes)
    derived.out = take(room, v * derived.columns * lanes)
    leading(terms, derived.leads)


def _linear(terms, field, work, derived, stage):
    """The time derivative of a stage's state, and its derivatives with the variables and with the functions' sums."""
    v, factors, lanes = terms.variables, terms.variables + terms.functions, field.lanes
    phi, slopes = derived.phi + stage * terms.size * lanes, work.slopes + stage * v * lanes
    jacobian, at = derived.jacobian + stage * v * factors * lanes, derived.at + stage * v * lanes
    evaluate_slopes(terms, field, derived.leads, at, work.branches, phi, derived.dphi, work.known)
    fill(slopes, v * lanes, 0.0)
    fill(jacobian, v * factors * lanes, 0.0)
    for p in range(terms.size):
        value = phi + p * lanes
        for i in range(v):
            if not field.used[p * v + i]:
                continue
            theta, slope = field.theta + (p * v + i) * lanes, slopes + i * lanes
            for lane in range(lanes):
                slope[lane] += theta[lane] * value[lane]
            for j in range(factors):
                if derived.leads[p * factors + j]:
                    out, change = jacobian + (i * factors + j) * lanes, derived.dphi + (p * factors + j) * lanes
                    for lane in range(lanes):
                        out[lane] += theta[lane] * change[lane]


def _answers(terms, tableau, h, lanes, derived):
    """answer[s]: how the end of a step depends on the slope of stage s; through[s]: answer[s] @ jacobian[s].

    From the last stage back: a slope enters the end itself and every later stage.
    """
    v, factors, stages = terms.variables, terms.variables + terms.functions, tableau.count
    for s in range(stages - 1, -1, -1):
        answer, through = derived.answer + s * v * v * lanes, derived.through + s * v * v * lanes
        jacobian = derived.jacobian + s * v * factors * lanes
        fill(answer, v * v * lanes, 0.0)
        weight = tableau.weights[s]
        for i in range(v):
            out = answer + (i * v + i) * lanes
            for lane in range(lanes):
                out[lane] = h[lane] * weight
        for r in range(s + 1, stages):
            weight = tableau.stages[r * stages + s]
            if weight != 0.0:
                for i in range(v * v):
                    out, later = answer + i * lanes, derived.through + (r * v * v + i) * lanes
                    for lane in range(lanes):
                        out[lane] += h[lane] * weight * later[lane]
        fill(through, v * v * lanes, 0.0)
        for i in range(v):
            for j in range(v):
                left, right = answer + i * v * lanes, jacobian + j * lanes
                _sum_of_products(through + (i * v + j) * lanes, left, lanes, right, factors * lanes, v, lanes)


def _share(which, at, v, lanes, lane):
    """The derivative of a function's sum with its shift (-1), a rate or a bend, counted as in `flow.SHIFT`."""
    if which >= v:
        return at[(which - v) // v * lanes + lane] * at[(which - v) % v * lanes + lane]
    return at[which * lanes + lane] if which >= 0 else 1.0


def _by_parameters(terms, tableau, lanes, derived):
    """Add what the slopes of all stages have to do with the parameters to the derivatives of the end."""
    v, factors, stages, share = terms.variables, terms.variables + terms.functions, tableau.count, derived.column
    for c in range(derived.parameters):
        owner, which = derived.whose[c], derived.chosen[c]
        if owner >= 0:
            value = derived.phi + which * lanes
            for i in range(v):
                out, weight = (
                    derived.out + (i * derived.columns + v + c) * lanes,
                    derived.answer + (i * v + owner) * lanes,
                )
                _sum_of_products(out, weight, v * v * lanes, value, terms.size * lanes, stages, lanes)
            continue
        for stage in range(stages):
            answer, at = derived.answer + stage * v * v * lanes, derived.at + stage * v * lanes
            for lane in range(lanes):
                share[lane] = _share(-2 - owner, at, v, lanes, lane)
            for i in range(v):
                out = derived.out + (i * derived.columns + v + c) * lanes
                for j in range(v):
                    weight = answer + (i * v + j) * lanes
                    value = derived.jacobian + ((stage * v + j) * factors + v + which) * lanes
                    for lane in range(lanes):
                        out[lane] += weight[lane] * share[lane] * value[lane]


def _sum_of_products(out, left, left_step, right, right_step, count, lanes):
    """Add sum_k left[k] right[k] to (lanes,): row k of either is so many numbers after row k - 1."""
    total: cython.double[16]  # 16 lanes at a time stay in registers
    for block in range(lanes // 16):
        at = 16 * block
        for j in range(16):
            total[j] = out[at + j]
        for k in range(count):
            one, other = left + k * left_step + at, right + k * right_step + at
            for j in range(16):
                total[j] += one[j] * other[j]
        for j in range(16):
            out[at + j] = total[j]
    for lane in range(lanes // 16 * 16, lanes):
        for k in range(count):
            out[lane] += left[k * left_step + lane] * right[k * right_step + lane]


def onwards(terms, field, tableau, filled, work, derived):
    """One step of `work.x` in place, and the derivatives of where it ends, (v, v + parameters), in place.

    A step's end depends on a parameter through the slopes of its stages alone, and how it depends on those is found
    once. filled: the columns of `out` that are not zero yet.
    """
    v, stages, lanes, h = terms.variables, tableau.count, field.lanes, work.h
    for stage in range(stages):
        at = derived.at + stage * v * lanes
        copy(at, work.x, v * lanes)
        for before in range(stage):
            weight = tableau.stages[stage * stages + before]
            if weight != 0.0:
                for i in range(v):
                    there, slope = at + i * lanes, work.slopes + (before * v + i) * lanes
                    for lane in range(lanes):
                        there[lane] += h[lane] * weight * slope[lane]
        _linear(terms, field, work, derived, stage)
    _answers(terms, tableau, h, lanes, derived)
    for i in range(v * v):
        there = derived.whole + i * lanes
        fill(there, lanes, 1.0 if i % (v + 1) == 0 else 0.0)
        for stage in range(stages):
            through = derived.through + (stage * v * v + i) * lanes
            for lane in range(lanes):
                there[lane] += through[lane]
    for c in range(filled):
        for i in range(v):
            copy(derived.column + i * lanes, derived.out + (i * derived.columns + c) * lanes, lanes)
        for i in range(v):
            there = derived.out + (i * derived.columns + c) * lanes
            fill(there, lanes, 0.0)
            _sum_of_products(there, derived.whole + i * v * lanes, lanes, derived.column, lanes, v, lanes)
    _by_parameters(terms, tableau, lanes, derived)
    for stage in range(stages):
        weight = tableau.weights[stage]
        for i in range(v):
            there, slope = work.x + i * lanes, work.slopes + (stage * v + i) * lanes
            for lane in range(lanes):
                there[lane] += h[lane] * weight * slope[lane]


def switched(terms, field, lane, work, derived):
    """A lane's function switches at x, and the derivatives (v, v + parameters) with it.

    Whoever arrives later by dt follows the old field for dt longer and the new one for dt less; dt is what keeps the
    sum of the function at zero.
    """
    v, lanes, x, which, speed = terms.variables, field.lanes, work.x, work.which[lane], 0.0
    branch = work.branches + which * lanes + lane
    for turn in range(2):
        if turn == 1:
            branch[0] *= -1.0
        evaluate(terms, field, x, work.branches, work.phi, work.known)
        branch[0] *= -1.0 if turn == 1 else 1.0
        for i in range(v):
            slope = 0.0
            for p in range(terms.size):
                slope += field.theta[(p * v + i) * lanes + lane] * work.phi[p * lanes + lane]
            work.slopes[(turn * v + i) * lanes + lane] = slope
    for i in range(v):
        speed += slope_along(terms, field, which, x, lane, i) * work.slopes[i * lanes + lane]
    if speed == 0.0:
        return
    for c in range(derived.columns):
        rise = 0.0
        if c >= v and derived.whose[c - v] < 0 and derived.chosen[c - v] == which:
            rise = _share(-2 - derived.whose[c - v], x, v, lanes, lane)
        for i in range(v):
            along = slope_along(terms, field, which, x, lane, i)
            rise += along * derived.out[(i * derived.columns + c) * lanes + lane]
        for i in range(v):
            jump = work.slopes[i * lanes + lane] - work.slopes[(v + i) * lanes + lane]
            derived.out[(i * derived.columns + c) * lanes + lane] -= jump * rise / speed
