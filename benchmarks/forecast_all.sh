#!/usr/bin/env bash
# All settings of benchmarks/forecast_dev.py on one file of series: forecast_all.sh chaos.npz OUT PROCESSES
# Compiled code is made once before the processes start, so that no forecast's seconds have it in them.
set -euo pipefail
data=$1 out=$2 jobs=$3
here=$(dirname "$0")
export OMP_NUM_THREADS=1
python -c "import sys; sys.path.insert(0, '$here'); import forecast_dev; forecast_dev.warm()"
python "$here/forecast_dev.py" "$data" --part all --trajectories 0 2 4 --jobs "$jobs" --out "$out/forecast_dev.json"
python "$here/forecast_dev.py" "$data" --part all --noise 0.0001 --jobs "$jobs" --out "$out/forecast_dev_little.json"
python "$here/forecast_dev.py" "$data" --part all --noise 0.01 --jobs "$jobs" --out "$out/forecast_dev_noise1.json"
python "$here/forecast_dev.py" "$data" --part all --noise 0.05 --jobs "$jobs" --out "$out/forecast_dev_noise5.json"
python "$here/forecast_dev.py" "$data" --part all --noise 0.01 --missing 0.3 --jobs "$jobs" --out "$out/forecast_dev_gaps.json"
python "$here/forecast_dev.py" "$data" --part all --single --jobs "$jobs" --out "$out/forecast_dev_single.json"
python "$here/forecast_dev.py" "$data" --part all --single --noise 0.01 --jobs "$jobs" --out "$out/forecast_dev_single_noise1.json"
python "$here/forecast_dev.py" "$data" --part all --single --trajectories 4 --jobs "$jobs" --out "$out/forecast_dev_unseen.json"
