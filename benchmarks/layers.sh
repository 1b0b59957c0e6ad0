#!/usr/bin/env bash
# Everything about layers that wants a GPU: the benchmark, then the tests of the kernels on CUDA. benchmarks/layers.sh OUT
set -u
out=$1
export PYTHONPATH=src OMP_NUM_THREADS=1
timeout 300 python benchmarks/layers.py --out "$out/layers-gpu.json" 2>&1 | cut -c1-300 | tail -40
timeout 240 python -m pytest -q -x tests/test_engine_triton_blocks.py tests/test_engine_triton.py tests/test_nn_mistakes.py \
    tests/test_nn_selective.py -k "gpu or fused or hopper or blocks or kernels" >"$out/pytest.txt" 2>&1
tail -15 "$out/pytest.txt"
