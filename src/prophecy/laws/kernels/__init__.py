"""Compiled when the package is built, as one module: `entry.pyx`, and the files it includes."""

from prophecy._cpu import kernels

__path__ = kernels("laws")
