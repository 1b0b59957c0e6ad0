"""The same predictor inside other libraries: one file and one extra each, imported by its own name.

`sktime` and `river` (forecasters), `sklearn` (transformer), `statsforecast` (model), `pynumdiff` (derivatives, for
PyNumDiff and PySINDy), `spark` (functions of frames), `dask` (tables in many files). They hold no model.
"""
