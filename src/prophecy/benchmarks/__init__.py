"""Benchmarks: every speed beside a peer and a ceiling of the same run, and none without a check of the numbers.

`prophecy bench` runs the cases; `python -m prophecy.benchmarks.gpu --out FILE` the GPU ones alone, with nothing but
torch and triton installed; `python -m prophecy.benchmarks.table` prints the README's table from the committed results.
"""
