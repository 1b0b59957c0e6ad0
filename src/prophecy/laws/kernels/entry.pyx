"""Compiled loops of laws and forecasts, one module: fields, their flows with derivatives, smoothers, banks of them."""

from collections import namedtuple

import numpy as np

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport INFINITY, cos, exp, fabs, isnan, log, pow, sin, sqrt, tanh

include "arrays.pyx"
include "unrolled.pyx"
include "flow.pyx"
include "tangents.pyx"
include "smoother.pyx"
include "smoothing.pyx"
