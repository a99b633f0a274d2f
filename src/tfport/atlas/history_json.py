"""The history of an op as JSON: the format of `tfport ops --json`, version 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfport.atlas.atlas import Atlas
from tfport.atlas.history import OpHistory, ProviderHistory, op_history
from tfport.atlas.op_definitions import FLAGS, arg_kind, value_text
from tfport.atlas.op_search import OpSummary
from tfport.atlas.release_spans import Span
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.registry.registry import Kernel

VERSION = 1


def history_json(history: OpHistory) -> dict[str, Any]:
    return {
        "name": history.name,
        "since": history.since,
        "until": history.until,
        "definition": definition_json(history.definition),
        "type_attr": history.type_attr,
        "providers": [_provision(provision) for provision in history.provisions],
        "kernels_missing": _spans(history.kernels_missing),
        "later": history.later,
    }


def ops_json(atlas: Atlas, names: Sequence[str]) -> dict[str, Any]:
    """The histories of ops by name; for a name that nobody registers, similar ones."""
    # imported here, as one history needs neither
    from tfport.atlas.lite.releases import lite_op_history
    from tfport.atlas.op_search import suggestions

    by_name = {name: op_history(atlas, name) for name in names}
    lite = [history for name in names if (history := lite_op_history(name))]
    unknown = [n for n, history in by_name.items() if not history and n not in {h.op for h in lite}]
    return {
        "version": VERSION,
        "ops": [history_json(history) for history in by_name.values() if history],
        "lite": [history.to_json() for history in lite],
        "unknown": {name: suggestions(atlas, name) for name in unknown},
    }


def summary_json(summary: OpSummary) -> dict[str, Any]:
    return {"name": summary.name, "releases": _spans(summary.releases), "providers": summary.providers}


def _provision(provision: ProviderHistory) -> dict[str, Any]:
    return {
        "package": provision.package,
        "library": provision.library or None,
        "releases": _spans(provision.releases),
        "changes": [{"release": c.release, "changes": c.changes} for c in provision.changes],
        "kernels": [
            {
                "device": line.device,
                "types": list(line.types) or None,
                "label": line.label or None,
                "releases": _spans(line.releases),
            }
            for line in provision.kernels
        ],
    }


def _spans(spans: Iterable[Span]) -> list[dict[str, str]]:
    return [span.to_json() for span in spans]


def definition_json(op: OpDef) -> dict[str, Any]:
    """Return a definition; dtypes are named as `float32`; without a default there is no key `default`."""
    return {
        "inputs": [{"name": arg.name, "type": arg_kind(arg)} for arg in op.input_arg],
        "outputs": [{"name": arg.name, "type": arg_kind(arg)} for arg in op.output_arg],
        "attrs": [_attr(attr) for attr in op.attr],
        "flags": [flag for flag in FLAGS if getattr(op, flag)],
        "deprecated": {"graph_def": op.deprecation.version, "why": op.deprecation.explanation}
        if op.HasField("deprecation")
        else None,
    }


def _attr(attr: OpDef.AttrDef) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": attr.name, "type": attr.type}
    if attr.HasField("default_value"):
        shown["default"] = _value(decode(attr.default_value))
    if attr.HasField("allowed_values"):
        shown["allowed"] = _value(decode(attr.allowed_values))
    if attr.has_minimum:
        shown["minimum"] = attr.minimum
    return shown


def kernel_json(kernel: Kernel) -> dict[str, Any]:
    return {
        "device": kernel.device,
        "constraints": {name: _value(list(values)) for name, values in kernel.constraints.items()},
        "host_memory": list(kernel.host_memory),
        "label": kernel.label or None,
        "priority": kernel.priority,
    }


def _value(value: Attr) -> Any:
    if isinstance(value, list):
        return [_value(element) for element in value]
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value if isinstance(value, bool | int | str) else value_text(value)
