"""npgrad.nn against torch on the CPU: ``python -m benchmarks.nn.run``; see ``run.py``."""
