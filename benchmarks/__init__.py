"""Everything that is measured, and one way to run it: `python -m benchmarks` lists what there is.

`catalogue.py` names the benchmarks: what each runs, what it needs and how long it takes. Results are in `results/`,
each with the commit, the date and a digest of the code it was made by; `python -m benchmarks --stale` names those whose
code has changed since.
"""
