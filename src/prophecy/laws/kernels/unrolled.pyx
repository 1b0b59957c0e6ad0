"""Terms evaluated at points side by side.

The last axis of all arrays is the point (*lane*): fields have few variables and few terms, and a processor does the
same to several numbers at once. Each lane's numbers are those it would have alone, to the last bit.

Moduli and signs switch where their sum passes zero. Between two switches each is smooth, on the branch that `branches`
names; `flow.pyx` finds the moments between, those of moduli only for steps of order 8: across a kink a step of a low
order errs by its square.
"""

# What a function of a weighted sum may be.
cpdef enum:
    SINE
    TANH
    MODULUS
    EXPONENTIAL
    RECIPROCAL
    SIGN
    LOGARITHM
    ROOT

# Points side by side: they keep a processor's widest registers busy and fit into its nearest memory.
cpdef enum:
    LANES = 64

# Exponents above the highest are cut off, and logarithms and the slopes of roots are taken of no less than the lowest:
# a path that gets there has left, or comes to rest, and infinity would take others with it.
cdef double HIGHEST = 300.0, LOWEST = 1e-12

# The table of a field (`prophecy.laws.flow.Terms`) and its numbers for points side by side: theta (size, variables,
# lanes), rates (functions, variables, lanes), shifts (functions, lanes), bends (functions, variables, variables, lanes).
# used: (size, variables), whether any lane has the term in the equation; needed: (size + functions,), whether a term or
# a function is in some equation, or what is there is made from it; bent: (functions,), whether any has bends;
# leads: (size, variables + functions), whether a term changes with a variable or with a function's sum. What is not
# there costs nothing. branches: (functions, lanes), the sides that moduli and signs are on, 0 for each sum's own. known:
# (2 + variables, lanes) to work in.
cdef struct Field:
    long long variables, size, functions, lanes
    Places parents, factors, kinds, used, needed, bent, leads
    Numbers theta, rates, shifts, bends, branches, known


cdef int read_table(table, long long lanes, Field* field) except -1:
    """The arrays of a table, checked: a parent comes before its term, every factor and kind exists."""
    size, functions = len(table.parents), len(table.kinds)
    field.variables, field.size, field.functions, field.lanes = table.variables, size, functions, lanes
    field.parents = indices(table.parents, "parents", (size,))
    field.factors = indices(table.factors, "factors", (size,))
    field.kinds = indices(table.kinds, "kinds", (functions,))
    sound = field.variables > 0 and field.size > 0
    for p in range(1, field.size):
        sound = sound and 0 <= field.parents[p] < p
        sound = sound and 0 <= field.factors[p] < field.variables + field.functions
    for j in range(field.functions):
        sound = sound and SINE <= field.kinds[j] <= ROOT
    if not sound:
        raise ValueError("terms must have variables, a constant, parents before their terms, and factors that exist")
    return 0


cdef void place_field(Field* field, Room* room) noexcept nogil:
    """Arrays for the numbers of a field, of which nothing is known yet."""
    v, size, functions, lanes = field.variables, field.size, field.functions, field.lanes
    field.theta, field.shifts = take(room, size * v * lanes), take(room, functions * lanes)
    field.rates, field.bends = take(room, functions * v * lanes), take(room, functions * v * v * lanes)
    field.branches, field.known = take(room, functions * lanes), take(room, (2 + v) * lanes)
    field.used, field.needed = <long long*> take(room, size * v), <long long*> take(room, size + functions)
    field.bent, field.leads = <long long*> take(room, functions), <long long*> take(room, size * (v + functions))
    if room.start == NULL:
        return
    fill(field.branches, functions * lanes, 0.0)
    for j in range(functions):
        field.bent[j] = 0


cdef void need(Field* field, double* thetas, long long fields, Places terms, long long count) noexcept nogil:
    """Set what is used and needed by so many coefficients, (fields, size, variables), and for `count` more terms: a
    sparse field costs as much as it has terms."""
    v, size = field.variables, field.size
    for p in range(size * v):
        field.used[p] = 0
        for k in range(fields):
            field.used[p] |= thetas[k * size * v + p] != 0.0
    for p in range(size + field.functions):
        field.needed[p] = 0
    for c in range(count):
        field.needed[terms[c]] = 1
    for p in range(size - 1, 0, -1):
        for i in range(v):
            field.needed[p] |= field.used[p * v + i]
        if field.needed[p]:
            field.needed[field.parents[p]] = 1
            if field.factors[p] >= v:
                field.needed[size + field.factors[p] - v] = 1


cdef void put_field(
    Field* field, double* theta, double* rates, double* shifts, double* bends, long long lane
) noexcept nogil:
    """Give one lane its numbers, and `leads` what changes with what."""
    v, lanes, columns = field.variables, field.lanes, field.variables + field.functions
    for p in range(field.size * v):
        field.theta[p * lanes + lane] = theta[p]
    for j in range(field.functions):
        field.shifts[j * lanes + lane] = shifts[j]
        for i in range(v):
            field.rates[(j * v + i) * lanes + lane] = rates[j * v + i]
        for i in range(v * v):
            field.bends[(j * v * v + i) * lanes + lane] = bends[j * v * v + i]
            field.bent[j] |= bends[j * v * v + i] != 0.0
    for p in range(field.size if lane == 0 else 0):
        before, own = field.leads + field.parents[p] * columns, field.leads + p * columns
        for i in range(columns):
            own[i] = p > 0 and (before[i] or i == field.factors[p])
        j = field.factors[p] - v
        for i in range(v if p > 0 and j >= 0 else 0):
            own[i] = own[i] or rates[j * v + i] != 0.0
            for k in range(v):
                if bends[(j * v + i) * v + k] != 0.0 or bends[(j * v + k) * v + i] != 0.0:
                    own[i] = 1


cdef double argument(Field* field, long long j, double* x, long long lane) noexcept nogil:
    """The weighted sum that function j is taken of."""
    v, lanes = field.variables, field.lanes
    at = field.shifts[j * lanes + lane]
    for i in range(v):
        along = field.rates[(j * v + i) * lanes + lane]
        if field.bent[j]:
            for k in range(v):
                along += field.bends[((j * v + i) * v + k) * lanes + lane] * x[k * lanes + lane]
        at += along * x[i * lanes + lane]
    return at


cdef double slope_along(Field* field, long long j, double* x, long long lane, long long i) noexcept nogil:
    """The derivative of that sum with variable i."""
    v, lanes = field.variables, field.lanes
    along = field.rates[(j * v + i) * lanes + lane]
    if field.bent[j]:
        for k in range(v):
            one, other = ((j * v + i) * v + k) * lanes + lane, ((j * v + k) * v + i) * lanes + lane
            along += (field.bends[one] + field.bends[other]) * x[k * lanes + lane]
    return along


cdef bint switches(Field* field, long long j, bint kinks) noexcept nogil:
    """Whether steps stop where the sum of function j passes zero: at jumps, and at kinks where these count."""
    return field.needed[field.size + j] and (field.kinds[j] == SIGN or (kinks and field.kinds[j] == MODULUS))


cdef void choose_branches(Field* field, double* x, long long lane, bint kinks) noexcept nogil:
    """The side that each function is on in a lane; 0 for those that change it within a step."""
    for j in range(field.functions):
        side = 0.0
        if switches(field, j, kinks):
            side = 1.0 if argument(field, j, x, lane) > 0.0 else -1.0
        field.branches[j * field.lanes + lane] = side


cdef void _sums(Field* field, long long j, double* x, double* out) noexcept nogil:
    """The weighted sums that function j is taken of, (lanes,)."""
    v, lanes = field.variables, field.lanes
    if field.bent[j]:
        for lane in range(lanes):
            out[lane] = argument(field, j, x, lane)
        return
    copy(out, field.shifts + j * lanes, lanes)
    for i in range(v):
        add_product(out, field.rates + (j * v + i) * lanes, x + i * lanes, lanes)


cdef void _apply(
    long long kind, double* sides, double* value, double* slope, long long lanes, long long sloped
) noexcept nogil:
    """A function of the sums in `value`, in their place, and its slopes, (lanes,) each; sloped: how many of these are
    made, all or none. sides: of moduli and signs, 0 where that is the sum's own."""
    if kind == SINE:
        for lane in range(sloped):
            slope[lane] = cos(value[lane])
        for lane in range(lanes):
            value[lane] = sin(value[lane])
    elif kind == TANH:
        for lane in range(lanes):
            value[lane] = tanh(value[lane])
        for lane in range(sloped):
            slope[lane] = 1.0 - value[lane] * value[lane]
    elif kind == MODULUS:
        for lane in range(lanes):
            side = 1.0 if value[lane] > 0.0 else -1.0
            slope[lane] = side if sides[lane] == 0.0 else sides[lane]
            value[lane] *= slope[lane]
    elif kind == EXPONENTIAL:
        for lane in range(lanes):
            value[lane] = exp(min(value[lane], HIGHEST))
        copy(slope, value, sloped)
    elif kind == RECIPROCAL:
        for lane in range(sloped):
            slope[lane] = -1.0 / (value[lane] * value[lane])
        for lane in range(lanes):
            value[lane] = 1.0 / value[lane]
    elif kind == LOGARITHM:
        for lane in range(sloped):
            slope[lane] = 1.0 / max(value[lane], LOWEST)
        for lane in range(lanes):
            value[lane] = log(max(value[lane], LOWEST))
    elif kind == ROOT:
        for lane in range(lanes):
            value[lane] = sqrt(max(value[lane], 0.0))
        for lane in range(sloped):
            slope[lane] = 0.5 / max(value[lane], sqrt(LOWEST))
    else:
        copy(value, sides, lanes)
        fill(slope, sloped, 0.0)


cdef void evaluate(Field* field, double* x, double* phi, double* dphi) noexcept nogil:
    """phi (size, lanes) at x (variables, lanes), and, unless dphi is NULL, its derivatives, (size, variables +
    functions, lanes), where these are not 0: with the variables, and with the functions' sums."""
    v, columns, lanes = field.variables, field.variables + field.functions, field.lanes
    cdef long long last = -1
    cdef bint sloped = dphi != NULL
    known, slope, rises = field.known, field.known + lanes, field.known + 2 * lanes
    fill(phi, lanes, 1.0)
    for p in range(1, field.size):
        if not field.needed[p]:
            continue
        place, factor = field.parents[p], field.factors[p]
        parent, out, j = phi + place * lanes, phi + p * lanes, factor - v
        if j >= 0 and factor != last:
            last = factor
            _sums(field, j, x, known)
            _apply(field.kinds[j], field.branches + j * lanes, known, slope, lanes, lanes if sloped else 0)
            copy(rises, field.rates + j * v * lanes, v * lanes if sloped else 0)
            for i in range(v if sloped and field.bent[j] else 0):
                for lane in range(lanes):
                    rises[i * lanes + lane] = slope_along(field, j, x, lane, i)
        value = x + factor * lanes if factor < v else known
        for lane in range(lanes):
            out[lane] = parent[lane] * value[lane]
        if not sloped:
            continue
        changes, before = dphi + p * columns * lanes, dphi + place * columns * lanes
        for i in range(columns):
            if field.leads[p * columns + i]:
                if field.leads[place * columns + i]:
                    for lane in range(lanes):
                        changes[i * lanes + lane] = before[i * lanes + lane] * value[lane]
                else:
                    fill(changes + i * lanes, lanes, 0.0)
        own = changes + factor * lanes
        if j < 0:
            for lane in range(lanes):
                own[lane] += parent[lane]
            continue
        add_product(own, parent, slope, lanes)
        for i in range(v):
            if field.leads[p * columns + i]:
                there, along = changes + i * lanes, rises + i * lanes
                for lane in range(lanes):
                    there[lane] += parent[lane] * slope[lane] * along[lane]


def features(table, points):
    """phi at (points, variables): (points, size)."""
    points = np.ascontiguousarray(points, dtype=np.float64)
    cdef Field field
    cdef Room room = Room(NULL, 0)
    cdef long long first = 0, count = len(points), lanes = max(1, min(LANES, count))
    read_table(table, lanes, &field)
    v, size, functions = field.variables, field.size, field.functions
    place_field(&field, &room)
    made, work = np.empty((count, size)), np.empty(room.used + (v + size) * lanes)
    at, out = doubles(points, "points", (count, v)), doubles(made, "out", (count, size))
    nothing, every = np.zeros((size, v)), np.arange(size)
    theta, terms = doubles(nothing, "theta", (size, v)), indices(every, "terms", (size,))
    rates = doubles(table.rates, "rates", (functions, v))
    shifts, bends = doubles(table.shifts, "shifts", (functions,)), doubles(table.bends, "bends", (functions, v, v))
    room = Room(doubles(work, "work", work.shape), 0)
    with nogil:
        place_field(&field, &room)
        need(&field, theta, 1, terms, size)
        x, phi = take(&room, v * lanes), take(&room, size * lanes)
        for lane in range(lanes):
            put_field(&field, theta, rates, shifts, bends, lane)
        while first < count:
            for lane in range(lanes):
                for i in range(v):
                    x[i * lanes + lane] = at[min(first + lane, count - 1) * v + i]
                choose_branches(&field, x, lane, False)
            evaluate(&field, x, phi, NULL)
            for lane in range(min(lanes, count - first)):
                for p in range(size):
                    out[(first + lane) * size + p] = phi[p * lanes + lane]
            first += lanes
    return made
