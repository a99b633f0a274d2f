"""The TensorFlow Lite part of an inspection as JSON: the key `lite` of `tfport inspect --json`."""

from __future__ import annotations

from typing import Any

from tfport.formats.lite.metadata import associated_files
from tfport.formats.lite.records import LiteTensor
from tfport.inspection.lite import LiteInspection


def lite_json(report: LiteInspection) -> dict[str, Any]:
    file, metadata = report.file, report.metadata
    return {
        "schema": file.version,
        "description": file.description,
        "min_runtime_version": metadata.min_runtime_version or None,
        "bytes": file.size,
        "operators": [
            {
                "op": code.op,
                "version": code.version,
                "custom": code.custom or None,
                "flex": code.flex_op or None,
                "count": count,
            }
            for code, count in report.operators.items()
        ],
        "signatures": {
            name or None: {
                "inputs": {key: _tensor(tensor) for key, tensor in inputs.items()},
                "outputs": {key: _tensor(tensor) for key, tensor in outputs.items()},
            }
            for name, (inputs, outputs) in report.signatures.items()
        },
        "subgraphs": [
            {"name": graph.name, "tensors": len(graph.tensors), "operators": len(graph.operators)}
            for graph in file.subgraphs
        ],
        "quantization": report.quantization or None,
        "per_channel_weights": report.per_channel,
        "weights": dict(report.weights),
        "activations": report.arena,
        "metadata": list(metadata.names),
        "model": {
            key: metadata.model.get(key) for key in ("name", "description", "version", "author", "license")
        },
        "associated_files": associated_files(metadata.model),
        "no_graph": report.no_graph or None,
    }


def _tensor(tensor: LiteTensor) -> dict[str, Any]:
    stored = tensor.quantization
    return {
        "name": tensor.name,
        "type": tensor.type,
        "shape": list(tensor.dims),
        "scale": list(stored.scale) if stored else [],
        "zero_point": list(stored.zero_point) if stored else [],
    }
