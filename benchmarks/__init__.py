"""Benchmarks: the same NumPy source text run plain, by npgrad, and by its peers.

``python -m benchmarks.run`` is the command; `benchmarks.harness` says how a workload is measured.
"""
