"""What the device can do at most: copies and matrix products."""

from __future__ import annotations

import torch

from .timing import Record, seconds


def run(record: Record) -> None:
    for mebibytes in (64, 256, 4096):
        size = mebibytes << 20
        taken = record.copy_seconds(2 * size)
        record.put(
            operation="copy",
            case=f"{mebibytes} MiB",
            kind="float32",
            ours=taken,
            note=f"{2 * size / taken / 1e9:.0f} GB/s",
        )
    a, b = torch.randn(8192, 8192, device="cuda"), torch.randn(8192, 8192, device="cuda")
    for kind in ("float32", "tf32"):
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        taken = seconds(lambda: a @ b, repeats=3)
        record.put(
            operation="matmul 8192^3",
            case="torch",
            kind=kind,
            ours=taken,
            tflops=2 * 8192**3 / taken / 1e12,
        )
    torch.backends.cuda.matmul.allow_tf32 = False
