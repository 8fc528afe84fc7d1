"""Markdown from the JSON files of a run: `python -m benchmarks.gpu.report OUT.json IN.json ...` writes OUT.json (all rows) and OUT.md."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# operation: what is asked of it, as (fraction of a copy of the same bytes, ratio to torch)
BARS = {
    "layer_norm backward": "copy >= 0.90 (0.7 at 16384; bfloat16 0.75), torch >= 2x (1.5x at 16384; bfloat16 1.9x)",
    "rms_norm backward": "as layer_norm",
    "softmax backward": "copy >= 0.95, torch >= 1.9x",
    "group_norm backward": "copy >= 0.8, torch >= 1.0x",
    "batch_norm backward": "copy >= 0.8, torch's best >= 1.0x",
    "index_add": "torch's faster one: >= 1.4x uniform, 4x Zipf, 20x all equal",
    "take_along_axis bwd": "torch >= 1.0x everywhere",
    "conv2d grad weight": "tf32x3: cuDNN float32 >= 1.0x on 7 of 9, never under 0.7x; tf32: the same against cuDNN TF32 NCHW; depthwise >= 3x",
    "conv2d grad input": "cuDNN >= 0.8x",
    "elementwise gradient": "torch eager >= 2x",
}


def table(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| case | kind | us | torch us | ratio | of a copy | other | error (torch's) |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    for r in rows:
        ours, theirs = r["ours"], r.get("torch")
        other = []
        if r.get("rival"):
            other.append(f"channels-last {r['rival'] / ours:.2f}x")
        if r.get("cupy"):
            other.append(f"CuPy {r['cupy'] / ours:.1f}x")
        if r.get("tflops"):
            other.append(f"{r['tflops']:.0f} TFLOP/s")
        if r.get("host"):
            other.append(f"host {r['host'] * 1e6:.0f} us")
        if r.get("note"):
            other.append(str(r["note"]))
        wrong = "" if r.get("error") is None else f"{r['error']:.1e}"
        if r.get("their_error") is not None:
            wrong += f" ({r['their_error']:.1e})"
        lines.append(
            f"| {r['case']} | {r['kind']} | {ours * 1e6:.1f} | {theirs * 1e6:.1f} | {theirs / ours:.2f} |"
            if theirs
            else f"| {r['case']} | {r['kind']} | {ours * 1e6:.1f} | | |"
        )
        copy = f"{r['copy'] / ours:.2f}" if r.get("copy") else ""
        lines[-1] += f" {copy} | {', '.join(other)} | {wrong} |"
    return lines


def main() -> None:
    out, *inputs = (Path(a) for a in sys.argv[1:])
    rows: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for path in inputs:
        data = json.loads(path.read_text())
        rows += data["rows"]
        facts.update(data["facts"])
    out.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    lines = ["# Device kernels on an H200", ""]
    lines += [
        "Medians of CUDA events, launch cost hidden behind a sleep kernel, inputs rotated over more than 400 MB (the L2 holds 60),",
        'outputs poisoned, errors ||out - ref|| / ||ref|| against float64. "Ratio" is torch\'s time over ours in the same process;',
        '"of a copy" is the time of a device copy that moves the same bytes (read and write) over ours. cuDNN with benchmark=True.',
        "`ordered` and `unique` are options of the call. Host: what a call costs to enqueue.",
        "",
        "Versions: " + ", ".join(f"{k} {v}" for k, v in facts.items()) + ".",
        "",
    ]
    notes = out.with_suffix(".notes.md")
    if notes.exists():
        lines += [notes.read_text().strip(), ""]
    for operation in dict.fromkeys(r["operation"] for r in rows):
        lines += [f"## {operation}", ""]
        if operation in BARS:
            lines += [f"Wanted: {BARS[operation]}.", ""]
        lines += [*table([r for r in rows if r["operation"] == operation]), ""]
    out.with_suffix(".md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
