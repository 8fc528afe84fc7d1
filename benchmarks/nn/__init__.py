"""npgrad.nn against torch on the CPU: ``python -m benchmarks.nn``; see ``run.py``."""
