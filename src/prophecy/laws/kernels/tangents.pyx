"""How steps of a flow depend on their start and on the parameters of the field."""


cdef void linear(Flow* flow, double* jacobian) noexcept nogil:
    """The derivatives of a stage's slope with the variables and with the functions' sums."""
    field = &flow.field
    v, factors, lanes = field.variables, field.variables + field.functions, field.lanes
    fill(jacobian, v * factors * lanes, 0.0)
    for p in range(field.size):
        for i in range(v):
            theta = field.theta + (p * v + i) * lanes
            for j in range(factors if field.used[p * v + i] else 0):
                if field.leads[p * factors + j]:
                    out, change = jacobian + (i * factors + j) * lanes, flow.dphi + (p * factors + j) * lanes
                    add_product(out, theta, change, lanes)


cdef void derive(Flow* flow, long long filled) noexcept nogil:
    """The derivatives of where the last step ended, (v, v + parameters), in place.

    A step's end depends on a parameter through the slopes of its stages alone, and how it depends on those is found
    once. filled: the columns of `made` that are not zero yet.
    """
    v, stages, lanes, columns = flow.field.variables, flow.stages, flow.field.lanes, flow.columns
    _answers(flow)
    for i in range(v * v):
        there = flow.whole + i * lanes
        fill(there, lanes, 1.0 if i % (v + 1) == 0 else 0.0)
        for stage in range(stages):
            through = flow.through + (stage * v * v + i) * lanes
            for lane in range(lanes):
                there[lane] += through[lane]
    for c in range(filled):
        for i in range(v):
            copy(flow.column + i * lanes, flow.made + (i * columns + c) * lanes, lanes)
        for i in range(v):
            there = flow.made + (i * columns + c) * lanes
            fill(there, lanes, 0.0)
            _sum_of_products(there, flow.whole + i * v * lanes, lanes, flow.column, lanes, v, lanes)
    _by_parameters(flow)


cdef void _answers(Flow* flow) noexcept nogil:
    """answer[s]: how the end of a step depends on the slope of stage s; through[s]: answer[s] @ jacobian[s].

    From the last stage back: a slope enters the end itself and every later stage.
    """
    v, factors, lanes = flow.field.variables, flow.field.variables + flow.field.functions, flow.field.lanes
    stages = flow.stages
    for s in range(stages - 1, -1, -1):
        answer, through = flow.answer + s * v * v * lanes, flow.through + s * v * v * lanes
        jacobian, weight = flow.jacobian + s * v * factors * lanes, flow.weights[s]
        fill(answer, v * v * lanes, 0.0)
        for i in range(v):
            out = answer + (i * v + i) * lanes
            for lane in range(lanes):
                out[lane] = flow.h[lane] * weight
        for r in range(s + 1, stages):
            weight = flow.nodes[r * stages + s]
            if weight != 0.0:
                for i in range(v * v):
                    add_scaled(answer + i * lanes, flow.h, weight, flow.through + (r * v * v + i) * lanes, lanes)
        fill(through, v * v * lanes, 0.0)
        for i in range(v):
            for j in range(v):
                left, right = answer + i * v * lanes, jacobian + j * lanes
                _sum_of_products(through + (i * v + j) * lanes, left, lanes, right, factors * lanes, v, lanes)


cdef double _share(Flow* flow, long long c, double* at, long long lane) noexcept nogil:
    """The derivative of a function's sum with parameter c, its shift, a rate or a bend (`prophecy.laws.flow.SHIFT`)."""
    v, lanes, which = flow.field.variables, flow.field.lanes, -2 - flow.whose[c]
    if which >= v:
        return at[(which - v) // v * lanes + lane] * at[(which - v) % v * lanes + lane]
    return at[which * lanes + lane] if which >= 0 else 1.0


cdef void _by_parameters(Flow* flow) noexcept nogil:
    """Add what the slopes of all stages have to do with the parameters to the derivatives of the end."""
    v, factors, lanes = flow.field.variables, flow.field.variables + flow.field.functions, flow.field.lanes
    stages, share = flow.stages, flow.column
    for c in range(flow.parameters):
        owner, which = flow.whose[c], flow.chosen[c]
        for i in range(v if owner >= 0 else 0):
            out, weight = flow.made + (i * flow.columns + v + c) * lanes, flow.answer + (i * v + owner) * lanes
            _sum_of_products(
                out, weight, v * v * lanes, flow.phi + which * lanes, flow.field.size * lanes, stages, lanes
            )
        for stage in range(stages if owner < 0 else 0):
            answer, at = flow.answer + stage * v * v * lanes, flow.at + stage * v * lanes
            for lane in range(lanes):
                share[lane] = _share(flow, c, at, lane)
            for i in range(v):
                out = flow.made + (i * flow.columns + v + c) * lanes
                for j in range(v):
                    weight = answer + (i * v + j) * lanes
                    value = flow.jacobian + ((stage * v + j) * factors + v + which) * lanes
                    for lane in range(lanes):
                        out[lane] += weight[lane] * share[lane] * value[lane]


cdef void _sum_of_products(
    double* out, double* left, long long left_step, double* right, long long right_step, long long count,
    long long lanes
) noexcept nogil:
    """Add sum_k left[k] right[k] to (lanes,): row k of either is so many numbers after row k - 1."""
    cdef double total[16]  # 16 lanes at a time stay in registers
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


cdef void switched(Flow* flow) noexcept nogil:
    """Functions switch at x, and the derivatives (v, v + parameters) with them.

    Whoever arrives later by dt follows the old field for dt longer and the new one for dt less; dt is what keeps the
    sum of the function at zero.
    """
    field = &flow.field
    v, lanes, columns, x = field.variables, field.lanes, flow.columns, flow.x
    for turn in range(2):
        evaluate(field, x, flow.phi, NULL)
        for i in range(v * lanes):
            slope, lane = 0.0, i % lanes
            for p in range(field.size):
                if field.used[p * v + i // lanes]:
                    slope += field.theta[p * v * lanes + i] * flow.phi[p * lanes + lane]
            flow.slopes[turn * v * lanes + i] = slope
        for lane in range(lanes):
            if flow.which[lane] >= 0:
                field.branches[flow.which[lane] * lanes + lane] *= -1.0
    for lane in range(lanes):
        j, speed = flow.which[lane], 0.0
        for i in range(v if j >= 0 else 0):
            speed += slope_along(field, j, x, lane, i) * flow.slopes[i * lanes + lane]
        for c in range(columns if speed != 0.0 else 0):
            rise = 0.0
            if c >= v and flow.whose[c - v] < 0 and flow.chosen[c - v] == j:
                rise = _share(flow, c - v, x, lane)
            for i in range(v):
                rise += slope_along(field, j, x, lane, i) * flow.made[(i * columns + c) * lanes + lane]
            for i in range(v):
                jump = flow.slopes[i * lanes + lane] - flow.slopes[(v + i) * lanes + lane]
                flow.made[(i * columns + c) * lanes + lane] -= jump * rise / speed
