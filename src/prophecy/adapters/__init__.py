"""The same predictor inside other libraries: one file and one extra each, imported by its own name.

`sktime` and `river` (forecasters), `sklearn` (transformer), `statsforecast` (model), `pysindy` (differentiation),
`pynumdiff` (function), `bytewax` (operator of a dataflow). They hold no logic of their own.
"""
