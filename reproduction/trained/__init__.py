"""Everything in the report that needs gradient descent, written once for CPU and GPU (torch, numpy, scipy).

    python -m reproduction.trained --device cuda --out folder       # all runs at full size
    python -m reproduction.trained --out folder --small             # the same code in miniature

Runs whose file `folder/<run>.json` exists are skipped. The files of the full runs are in `reproduction/data/trained`;
`python -m reproduction` repeats every run in a shortened form and shows both.

| run | what is trained | read by |
|---|---|---|
| `readouts-radians`, `readouts-cycles` | C̄, D̄ over a fixed memory | `fig-training`, `trained`, `convolution` |
| `memories-radians`, `memories-cycles` | Ā, B̄, C̄, D̄ | `fig-training`, `trained` |
| `selective` | a selective SSM on regime switches and outliers | `gating` |
| `perceptron` | an MLP on the state of a fixed LegT memory | `layers` |
"""
