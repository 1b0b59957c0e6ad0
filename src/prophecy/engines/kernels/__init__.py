"""Compiled when the package is built: `entry.pyx`."""

from prophecy._cpu import kernels

__path__ = kernels("engines")
