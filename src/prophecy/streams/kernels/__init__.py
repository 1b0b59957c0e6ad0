"""Compiled when the package is built: each `.py` here is a kernel, its `.pxd` the C types of its functions."""

from prophecy import _cpu

__path__ = _cpu.kernels("streams")
