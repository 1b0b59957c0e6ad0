"""What steers the reading of a context and of regressors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContextSettings:
    """What steers the reading of a context (`context.py`)."""

    transitions: int = 1024  #: that a model is solved from: half of them the latest, half spread over everything older
    per_period: int = 16  #: samples of the fastest period that are plenty
    kept: int = 512  #: samples that thinning must leave
    per_period_linear: int = 16  #: samples of the fastest period that a linear model can do with
    kept_linear: int = 48  #: samples that must remain when only every `pace`-th is read
    driven: int = 16  #: variables up to which a hidden phase is looked for
    latest: int = 4096  #: samples that quartiles and sinusoids are estimated from: bounds the cost
    phased: int = 32  #: samples needed to call a variable a sinusoid
    sinusoid: float = 0.25  #: standard deviations: how far a sinusoid may be off, noise included
    #: Of the noise seen in high differences: what a sinusoid that drives a system leaves is 1.1 at most (30 systems of
    #: dysts, noise 0 to 20 %); oscillations of a system itself leave 1.2 or more, hundreds without noise.
    sinusoid_noise: float = 1.5
    sinusoid_periods: float = 1.5  #: in the context: through noise one period may be a transient that comes and goes
    sinusoid_clean: float = 1e-4  #: standard deviations: and this much whatever the noise; integrated drives wander
    spectrum: int = 16384  #: latest samples in whose spectrum the fastest period is looked for: bounds the cost
    glitch: float = 1e3  #: interquartile ranges from the samples around: a burst, or an error
    quiet: float = 1e-4  #: share of the variance that counts as the fastest period's surroundings
    overdue: float = 0.125  #: share of the samples: incomplete ones at the end, up to so many, are forecast as well


@dataclass(frozen=True)
class KnownSettings:
    """What steers the use of regressors known in advance (`known.py`)."""

    ridges: tuple[float, ...] = tuple(10.0**k for k in range(-6, 3))  #: of their mean power; leave-one-out chooses
    folds: int = 3  #: stretches rolled over: each costs as many forecasts as there are kinds of differences, and one
    least: int = 16  #: values before the first stretch
    worth: float = 0.99  #: of the error without regressors: less gain than this is luck
