#!/bin/bash
# Everything that runs on a GPU machine, in one go: device.sh tests,rows,... ; results under ${OUT:-benchmarks/results}
parts=$1; out=${OUT:-benchmarks/results}
export NPGRAD_CUDA_CACHE=${NPGRAD_CUDA_CACHE:-$PWD/.gpucache}
for part in ${parts//,/ }; do
  case $part in
    tests) python3 -m pytest -q -n ${WORKERS:-12} --maxfail=25 -p no:cacheprovider tests/cuda/test_gpu.py 2>&1 | tail -${TAIL:-40} ;;
    memcheck) compute-sanitizer --tool memcheck --error-exitcode 9 python3 -m pytest -q -p no:cacheprovider tests/cuda/test_sanitizer.py 2>&1 | tail -12 ;;
    racecheck) compute-sanitizer --tool racecheck --error-exitcode 9 python3 -m pytest -q -p no:cacheprovider tests/cuda/test_sanitizer.py 2>&1 | tail -12 ;;
    *) python3 -m benchmarks.gpu "$part" --out "$out/gpu-$part.json" --seconds "${LIMIT:-200}" ;;
  esac
done
