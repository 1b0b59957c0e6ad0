"""Benchmarks: every speed beside a peer and a ceiling of the same run, and none without a check of the numbers.

`prophecy bench` runs the cases, and so does `python -m prophecy.benchmarks --out FILE` without the command line's
extras. What is measured for one page alone is a script of the repository's folder `benchmarks`.
"""
