"""``python -m benchmarks.nn``: see `benchmarks.nn.run`."""

from benchmarks.nn.run import main

main()
