"""An inspection as JSON: the contract of `tfport inspect --json`, version 1."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.check.fetched import outputs_json
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphTable, GraphVariable
from tfport.inspection.inspection import VERSION, Inspection, StoredTensor


def to_json(report: Inspection) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": report.model,
        "kind": report.format.key,
        "tags": list(report.tags),
        "tag_sets": [list(tags) for tags in report.tag_sets],
        "producer": {
            "tensorflow": report.tensorflow or None,
            "graph_def": report.graph_def,
            "min_consumer": report.min_consumer,
            "made_with": report.made_with,
        },
        "signatures": {name: _signature(s) for name, s in report.signatures.items()},
        "inputs": {name: _tensor(spec) for name, spec in report.inputs.items()},
        "outputs": list(report.outputs),
        "fetched": outputs_json(report.fetched),
        "graph": {"nodes": report.nodes, "functions": report.functions, "devices": report.devices},
        "ops": {
            "signatures": {name: _counts(c) for name, c in report.census.signatures.items()},
            "loading": _counts(report.census.loading),
            "saving": _counts(report.census.saving),
            "rest": _counts(report.census.rest),
            "total": _counts(report.census.total),
            "custom": _counts(report.custom_ops),
            "addons": report.addon_ops,
            "newest": report.newest_ops,
            "gone": report.removed_ops,
            "releases": {op: _lifetime(op) for op in sorted(report.census.total)},
        },
        "variables": [
            {"name": v.name, **_array(v), "key": v.key, "slice": v.slice or None} for v in report.variables
        ],
        "checkpoint": [
            {"key": t.key, **_array(t), "bytes": t.nbytes, "variable": t.variable} for t in report.stored
        ],
        "tables": [_table(t) for t in report.tables],
        "assets": [{"file": a.file, "tensor": a.tensor, "bytes": a.nbytes} for a in report.assets],
        "problems": report.problems,
        "keras": _keras(report),
        "lite": _lite(report),
    }


def _lifetime(op: str) -> dict[str, str | None]:
    """The first release of TensorFlow with an op, and the last one if newer ones do not have it."""
    since, until = known_ops().lifetime(op)
    return {"since": since, "until": until}


def _keras(report: Inspection) -> dict[str, Any] | None:
    if report.keras is None:
        return None
    from tfport.reports.inspection_keras_json import keras_json  # other models do not need the layers

    return keras_json(report.keras)


def _lite(report: Inspection) -> dict[str, Any] | None:
    if report.lite is None:
        return None
    from tfport.reports.inspection_lite_json import lite_json  # other models do not need it

    return lite_json(report.lite)


def _signature(signature: Signature) -> dict[str, Any]:
    return {
        "method": signature.method,
        "inputs": {name: _tensor(spec) for name, spec in signature.inputs.items()},
        "outputs": {name: _tensor(spec) for name, spec in signature.outputs.items()},
        "defaults": sorted(signature.defaults),
    }


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    return {
        "dtype": str(spec.dtype),
        "shape": _shape(spec.shape),
        "form": spec.form,
        "tensors": list(spec.tensors),
    }


def _array(what: GraphVariable | StoredTensor) -> dict[str, Any]:
    return {"dtype": str(what.dtype), "shape": _shape(what.shape)}


def _table(table: GraphTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "op": table.node.op,
        "key": str(table.key),
        "value": str(table.value),
        "filled_by": table.filled_by,
        "asset": table.asset,
    }


def _shape(shape: Shape) -> list[int | None] | None:
    return None if shape.dims is None else list(shape.dims)


def _counts(counter: Counter[str]) -> dict[str, int]:
    """The number of nodes of each op, the most frequent first."""
    return dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))
