"""Systems that benchmarks integrate themselves: rates, a start, time between samples, how many are seen and to come.

CENSUS: chemistry, biology, mechanics, circuits; ONE: one variable; KNOWN: with inputs. TEXTBOOK: transients.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.harness import Array


class System(NamedTuple):
    """rates: of the variables, each an argument; inputs follow them. shown: how many variables are measured, None for
    all. inputs: functions of time that are given as `known=`, held from sample to sample."""

    rates: Callable[..., list[Any]]
    start: tuple[float, ...]
    dt: float
    seen: int = 400
    ahead: int = 100
    shown: int | None = None
    inputs: Callable[[Any], Array] | None = None

    def integrated(self) -> tuple[Array, Array, Array | None]:
        """States (time, variables), their rates, and inputs."""
        times = np.arange(self.seen + self.ahead) * self.dt
        options: dict[str, Any] = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
        if self.inputs is None:
            path = solve_ivp(lambda _, s: self.rates(*s), (0, times[-1]), self.start, t_eval=times, **options).y.T
            return path, np.array([self.rates(*s) for s in path]), None
        inputs, states = self.inputs(times), [np.array(self.start)]
        for u in inputs[:-1]:
            step = solve_ivp(lambda _, s, u=u: self.rates(*s, *u), (0, self.dt), states[-1], **options)
            states.append(step.y[:, -1])
        path = np.array(states)
        return path, np.array([self.rates(*s, *u) for s, u in zip(path, inputs, strict=True)]), inputs


Equations = list[dict[str, float]]


def polynomial(equations: Equations) -> Callable[..., list[Any]]:
    """Rates by the coefficients of each equation, each by the letters of the variables multiplied: {"xy": -0.4}."""

    def rates(*variables: Any) -> list[Any]:
        known = dict(zip("xyzw", variables, strict=False))
        return [sum(c * math.prod(known[letter] for letter in term) for term, c in each.items()) for each in equations]

    return rates


def _phases(a: Any, b: Any, c: Any) -> list[Any]:
    pulls = (np.sin(b - a) + np.sin(c - a), np.sin(a - b) + np.sin(c - b), np.sin(a - c) + np.sin(b - c))
    return [speed + 0.3 * pull for speed, pull in zip((1.0, 1.4, 2.1), pulls, strict=True)]


def _plankton(n: Any, p: Any, z: Any) -> list[Any]:
    grown, grazed = n * p / (0.5 + n), 0.8 * p * z
    return [0.3 * (2 - n) - grown, grown - grazed - 0.2 * p, 0.6 * grazed - 0.3 * z]


CHEMISTRY = {
    "chemostat": System(
        lambda s, x: [0.3 * (5 - s) - (growth := s * x / (1 + s)) / 0.6, growth - 0.3 * x], (4.0, 0.1), 0.1
    ),
    "dimers": System(lambda x, y: [-2 * x**2 + 0.6 * y, x**2 - 0.3 * y], (2.0, 0.0), 0.02, 200, 60),
    "chlorine dioxide": System(
        lambda x, y: [10 - x - 4 * (eaten := x * y / (1 + x**2)), 2 * (x - eaten)], (1.0, 2.0), 0.05
    ),
    "stirred tank": System(
        lambda c, t: [-c + (rate := 0.11 * (1 - c) * np.exp(t)), -4 * t + 14 * rate], (0.1, 0.2), 0.02, 300, 80
    ),
    "cubic autocatalysis": System(lambda x, y: [0.04 * (1 - x) - x * y**2, x * y**2 - 0.1 * y], (0.4, 0.35), 0.5),
    "Schnakenberg": System(lambda x, y: [0.1 - x + x**2 * y, 0.9 - x**2 * y], (0.3, 1.0), 0.1),
    "two reactants": System(
        lambda x, y, z: [-0.8 * x * y, -0.8 * x * y, 0.8 * x * y - 0.3 * z], (1.5, 1.0, 0.0), 0.05, 200
    ),
    "reversible steps": System(
        lambda x, y, z: [-0.7 * x + 0.2 * y, 0.7 * x - 0.7 * y + 0.1 * z, 0.5 * y - 0.1 * z], (1.0, 0.0, 0.2), 0.05, 200
    ),
    "ozone": System(lambda x, y: [0.5 - x * y - 0.2 * x, 0.8 * x - 0.5 * x * y - 0.1 * y], (0.1, 0.05), 0.1, 250),
}
BIOLOGY = {
    "SEIR": System(
        lambda s, e, i: [0.05 * (1 - s) - 2 * s * i, 2 * s * i - 0.7 * e, 0.7 * e - 0.5 * i], (0.9, 0.02, 0.02), 0.1
    ),
    "virus": System(
        lambda t, i, v: [1 - 0.1 * t - 0.5 * t * v, 0.5 * t * v - 0.6 * i, 3 * i - 2 * v], (5.0, 0.1, 0.1), 0.1
    ),
    "Leslie-Gower": System(lambda n, p: [n * (1 - n / 4) - 0.6 * n * p, 0.3 * p * (1 - p / n)], (2.0, 0.4), 0.2),
    "three in a chain": System(
        lambda x, y, z: [x * (1.2 - 0.1 * x - y), y * (x - 0.5 - z), z * (0.8 * y - 0.5)], (1.0, 0.6, 0.4), 0.1
    ),
    "glucose and insulin": System(
        lambda g, x, i: [0.03 * (90 - g) - x * g, -0.025 * x + 1.3e-5 * i, -0.15 * i], (280.0, 0.0, 350.0), 1.0, 180, 40
    ),
    "two compartments": System(lambda x, y: [-0.9 * x + 0.25 * y, 0.5 * x - 0.25 * y], (10.0, 0.0), 0.05, 200, 60),
    "tumour and immune cells": System(
        lambda e, t: [0.12 + 1.13 * e * t / (2 + t) - 0.3 * e * t - 0.37 * e, 1.6 * t * (1 - 0.2 * t) - e * t],
        (1.0, 0.5), 0.1,
    ),
    "plankton": System(_plankton, (1.5, 0.2, 0.1), 0.2),
    "repressilator": System(
        lambda x, y, z: [6 / (1 + z**2) - x, 6 / (1 + x**2) - y, 6 / (1 + y**2) - z], (0.5, 1.0, 3.0), 0.05, 300
    ),
    "mutualists": System(lambda x, y: [x * (1 - x + 0.4 * y), y * (0.6 - y + 0.5 * x)], (0.05, 0.4), 0.05, 200, 60),
}  # fmt: skip
MECHANICS = {
    "rolling ship": System(lambda x, v: [v, -x + 0.6 * x**3 - 0.1 * v], (1.0, 0.0), 0.1, 300),
    "bead on a hoop": System(lambda x, v: [v, np.sin(x) * (2 * np.cos(x) - 1) - 0.2 * v], (2.0, 0.5), 0.1, 300),
    "spring with drag": System(lambda x, v: [v, -2 * x - 0.3 * abs(v) * v], (2.0, 0.0), 0.08, 300),
    "spring with dry friction": System(
        lambda x, v: [v, -3 * x - 0.25 * np.tanh(200 * v)], (3.0, 0.0), 0.05, 200, 30
    ),
    "projectile": System(
        lambda v, w: [-0.02 * (speed := np.hypot(v, w)) * v, -9.81 - 0.02 * speed * w], (30.0, 25.0), 0.02, 200, 60
    ),
    "rigid body": System(
        lambda a, b, c: [0.8 * b * c - 0.02 * a, -1.2 * a * c - 0.02 * b, 0.5 * a * b - 0.02 * c], (1.0, 0.4, 1.5), 0.1
    ),
    "phases": System(_phases, (0.0, 1.0, 2.0), 0.1),
    "spring that hardens, two masses": System(
        lambda x, v, y, w: [v, -2 * x - x**3 + y - 0.1 * v, w, x - y - 0.1 * w], (1.2, 0.0, 0.0, 0.5), 0.1
    ),
}  # fmt: skip
CIRCUITS = {
    "series circuit": System(lambda x, v: [v, 4 - 2 * x - 0.4 * v], (0.0, 0.0), 0.06, 200),
    "tunnel diode": System(
        lambda v, i: [i - (4 * v - 5.5 * v**2 + 2.2 * v**3), 0.5 * (1.0 - v - 0.2 * i)], (0.1, 0.5), 0.05
    ),
    "diodes": System(
        lambda v, w: [2 - v - 0.05 * (np.exp(3 * v) - 1) - 0.5 * (v - w), 0.5 * (v - w)], (0.0, 0.0), 0.04, 200, 60
    ),
    "phase-locked loop": System(lambda x, v: [v, 0.4 - 1.2 * np.sin(x) - 0.3 * v], (0.0, 2.4), 0.1, 300),
    "motor and fan": System(
        lambda i, v: [12 - 2 * i - 0.5 * v, 1.5 * i - 0.1 * v - 0.02 * v**2], (0.0, 0.0), 0.05, 200, 60
    ),
    "two coupled loops": System(
        lambda x, v, y, w: [v, -x - 0.1 * v + 0.3 * y, w, 0.3 * x - 1.5 * y - 0.05 * w], (1.0, 0.0, -0.5, 0.0), 0.15
    ),
    "saturating coil": System(lambda x, v: [v, -x - 0.5 * x**3 - 0.12 * v], (2.0, 0.0), 0.06, 300),
}
CENSUS: dict[str, System] = CHEMISTRY | BIOLOGY | MECHANICS | CIRCUITS
ONE: dict[str, System] = {
    "cooling": System(lambda x: [-0.02 * (x - 20)], (80.0,), 1.0, 150, 50),
    "charging": System(lambda x: [(5 - x) / 2], (0.0,), 0.05, 150, 50),
    "logistic": System(lambda x: [0.5 * x * (1 - x / 10)], (0.3,), 0.1, 150, 50),
    "Gompertz": System(lambda x: [0.4 * x * np.log(10 / x)], (0.2,), 0.1, 150, 50),
    "draining tank": System(lambda x: [-0.12 * np.sqrt(np.maximum(x, 0.0))], (4.0,), 0.15, 150, 40),
    "fall with drag": System(lambda v: [9.81 - 0.1 * v**2], (0.0,), 0.02, 150, 50),
    "decaying oscillation": System(lambda x, v: [v, -4 * x - 0.3 * v], (1.0, 0.0), 0.08, 200, 60, 1),
}


def _voltage(t: Any) -> Array:
    return np.asarray(6 + 4 * np.sign(np.sin(0.9 * t)) + 2 * np.sin(2.3 * t))[:, None]


def _power(t: Any) -> Array:
    return np.column_stack([2 + 2 * np.sign(np.sin(0.35 * t)), 10 + 5 * np.sin(0.26 * t)])


KNOWN: dict[str, System] = {
    "motor": System(
        lambda i, v, u: [u - 2 * i - 0.5 * v, 1.5 * i - 0.3 * v], (0.0, 0.0), 0.1, 400, 60, None, _voltage
    ),
    "thermal network": System(
        lambda x, y, p, outside: [0.5 * p - 0.3 * (x - y), 0.1 * (x - y) - 0.05 * (y - outside)],
        (12.0, 10.0), 0.25, 400, 60, None, _power,
    ),
}  # fmt: skip


def _holling3(n: Any, p: Any) -> list[Any]:
    eaten = n * n / (0.3 + n * n) * p
    return [n * (1 - n / 3) - eaten, 0.7 * eaten - 0.3 * p]


def _tanks(x: Any, y: Any) -> list[Any]:
    flow = 0.4 * np.sqrt(max(x, 0.0))
    return [0.5 - flow, flow - 0.3 * np.sqrt(max(y, 0.0))]


TEXTBOOK: dict[str, System] = {
    "toggle": System(lambda x, y: [4 / (1 + y**2) - x, 4 / (1 + x**2) - y], (0.1, 0.2), 0.05, 200, 60),
    "SIR": System(lambda s, i, r: [-0.4 * s * i, 0.4 * s * i - 0.1 * i, 0.1 * i], (0.99, 0.01, 0.0), 0.25, 200, 100),
    "damped pendulum": System(lambda x, v: [v, -np.sin(x) - 0.1 * v], (2.5, 0.0), 0.1, 300, 200),
    "Michaelis-Menten": System(
        lambda a, b: [-1.2 * a / (0.5 + a), 1.2 * a / (0.5 + a) - 0.4 * b], (3.0, 0.0), 0.04, 150, 60
    ),
    "FitzHugh-Nagumo": System(
        lambda v, w: [v - v**3 / 3 - w + 0.5, 0.08 * (v + 0.7 - 0.8 * w)], (-1.0, 1.0), 0.4, 300, 200
    ),
    "Brusselator": System(lambda x, y: [1 + x * x * y - 4 * x, 3 * x - x * x * y], (1.0, 1.0), 0.1, 300, 200),
    "Goodwin": System(
        lambda x, y, z: [1 / (1 + z**10) - 0.1 * x, x - 0.1 * y, 0.1 * y - 0.1 * z], (0.1, 0.2, 2.5), 1.0, 300, 150
    ),
    "glycolysis": System(lambda x, y: [-x + 0.08 * y + x**2 * y, 0.6 - 0.08 * y - x**2 * y], (0.5, 0.5), 0.1, 300, 200),
    "competing species": System(
        lambda x, y: [x * (1 - x - 0.5 * y), y * (0.8 - y - 0.6 * x)], (0.02, 0.05), 0.1, 100, 60
    ),
    "Rosenzweig-MacArthur": System(
        lambda n, p: [n * (1 - n / 5) - n * p / (1 + n), 0.8 * n * p / (1 + n) - 0.4 * p], (1.0, 1.0), 0.2, 300, 150
    ),
    "Holling III": System(_holling3, (1.0, 0.5), 0.2, 200, 100),
    "damped Duffing": System(lambda x, v: [v, x - x**3 - 0.15 * v], (2.0, 1.0), 0.1, 300, 200),
    "two masses": System(
        lambda x, v, y, w: [v, -4 * x + y - 0.05 * v, w, 2 * x - 2 * y - 0.05 * w], (1.0, 0.0, 0.3, 0.0), 0.1, 300, 200
    ),
    "tank cascade": System(_tanks, (0.2, 2.5), 0.1, 200, 100),
}
