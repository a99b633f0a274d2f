"""The Keras part of an inspection as JSON: the key `keras` of `tfport inspect --json`."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.summary import LayerSummary
from tfport.inspection.keras import KerasInspection, is_custom


def keras_json(report: KerasInspection) -> dict[str, Any]:
    file, summary = report.file, report.summary
    optimizer, settings = report.optimizer
    return {
        "layout": file.layout,
        "version": file.keras_version or None,
        "backend": file.backend or None,
        "saved_at": file.saved_at or None,
        "class": summary.class_name or None,
        "name": summary.name or None,
        "architecture": report.has_architecture,
        "weights": report.has_weights,
        "layers": [_layer(layer) for layer in summary.layers],
        "parameters": summary.parameters,
        "trainable_parameters": summary.trainable,
        "custom_classes": report.custom_classes,
        "optimizer": {"class": optimizer, "config": settings} if optimizer else None,
        "compiled": report.compiled,
        "unsafe": [{"kind": u.kind, "where": u.where, "detail": u.detail} for u in file.unsafe],
        "stored": [
            {"owner": owner, "name": array.name, "dtype": array.dtype, "shape": list(array.shape)}
            for owner, arrays in summary.stored.items()
            for array in arrays
        ],
        "no_graph": report.no_graph or None,
    }


def _layer(layer: LayerSummary) -> dict[str, Any]:
    return {
        "name": layer.name,
        "class": layer.class_name,
        "depth": layer.depth,
        "shapes": [list(shape) for shape in layer.shapes],
        "parameters": layer.parameters,
        "trainable_parameters": layer.trainable,
        "inputs": layer.inputs,
        "custom": is_custom(layer),
    }
