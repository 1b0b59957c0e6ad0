#!/usr/bin/env bash
# Everything about layers that wants a GPU, and the training example on all cores beside it:
#     benchmarks/layers.sh OUT [CO2.npy]
# The third argument is the CO2 record for machines without statsmodels (np.save of examples/train_layer.py's series).
set -u
out=$1
export PYTHONPATH=src OMP_NUM_THREADS=1
(CUDA_VISIBLE_DEVICES="" timeout 480 python examples/train_layer.py --jobs 12 ${2:+--co2 "$2"} --json "$out/training.json" >"$out/training.txt" 2>&1) &
timeout 240 python -m prophecy.benchmarks.layers --out "$out/layers-gpu.json" >"$out/layers.txt" 2>&1
tail -30 "$out/layers.txt"
timeout 200 python -m pytest -q -x tests/test_engine_triton_blocks.py tests/test_engine_triton.py tests/test_nn.py -m "cuda or not cuda" -k "gpu or fused or hopper or blocks" >"$out/pytest.txt" 2>&1
tail -15 "$out/pytest.txt"
wait
tail -5 "$out/training.txt"
