"""The TensorFlow Lite part of an inspection as text and JSON: the key `lite` of `tfport inspect --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.formats.lite.metadata import associated_files
from tfport.formats.lite.records import CUSTOM, LiteTensor, OperatorCode
from tfport.inspection.lite import LiteInspection
from tfport.reports.console import GAP, facts, indented, more, title
from tfport.reports.layout import Grid, Group, ReportPart, Text
from tfport.words import byte_size, count, printable

MOST_OPERATORS = 40
MOST_TENSORS = 50


def lite_rows(report: LiteInspection) -> list[tuple[str, list[str]]]:
    """The facts about the whole file."""
    file, metadata = report.file, report.metadata
    model = metadata.model
    operators = sum(report.operators.values())
    return [
        ("made by", [file.description or "unknown"]),
        ("schema", [f"version {file.version}"]),
        (
            "oldest runtime",
            [f"{metadata.min_runtime_version} by its metadata"] * bool(metadata.min_runtime_version),
        ),
        ("model", [str(model[key]) for key in ("name", "version", "author") if model.get(key)]),
        ("license", [str(model["license"])] if model.get("license") else []),
        ("packed files", associated_files(model)),
        ("graph", [count(operators, "operator"), count(len(file.subgraphs), "subgraph")]),
        ("quantization", _quantization(report)),
        ("weights", [f"{kind} {byte_size(size)}" for kind, size in report.weights.most_common()]),
        ("activations", [f"at least {byte_size(report.arena)} at once"] * bool(report.arena)),
    ]


def _quantization(report: LiteInspection) -> list[str]:
    if not report.quantization:
        return []
    channels = f"{count(report.per_channel, 'tensor')} per channel" if report.per_channel else ""
    return [part for part in (report.quantization, channels) if part]


def render_lite(report: LiteInspection, width: int, *, everything: bool) -> Iterator[ReportPart]:
    most = 1 << 30 if everything else MOST_OPERATORS
    for name, (inputs, outputs) in report.signatures.items():
        yield title(*((f"signature {name}",) if name else ("no signatures", "the first subgraph")))
        rows = [("in", key, tensor) for key, tensor in inputs.items()]
        rows += [("out", key, tensor) for key, tensor in outputs.items()]
        yield _tensors(rows, 1 << 30 if everything else MOST_TENSORS)
    codes = sorted(report.operators.items(), key=lambda entry: (-entry[1], entry[0].name))
    yield title("operators", count(len(codes), "kind"))
    yield indented(Group(_operators(codes[:most]), *more(len(codes) - most)))
    if report.metadata.problem:
        yield title("problems")
        yield facts([("", [report.metadata.problem])], width)
    if report.no_graph:
        yield title("not runnable by tfport")
        yield indented(Text(printable(report.no_graph), style="red"))


def _operators(codes: list[tuple[OperatorCode, int]]) -> Grid:
    grid = Grid(gap=GAP)
    grid.add_column(overflow="fold")
    grid.add_column(justify="right")
    for code, used in codes:
        kind = "a TensorFlow op (Flex)" if code.flex_op else "custom op" if code.op == CUSTOM else ""
        grid.add_row(
            Text(printable(code.flex_op or code.name), style="cyan"),
            Text(str(used)),
            Text(f"version {code.version}"),
            Text(kind, style="dim"),
        )
    return grid


def _tensors(rows: list[tuple[str, str, LiteTensor]], most: int) -> ReportPart:
    grid = Grid(gap=GAP)
    for direction, name, tensor in rows[:most]:
        sizes = ", ".join("?" if size is None else str(size) for size in tensor.dims)
        stored = tensor.quantization
        scale = (
            f"{stored.scale[0]:.6g} * (q - {(*stored.zero_point, 0)[0]})" if stored and stored.scale else ""
        )
        grid.add_row(
            Text(direction, style="dim"),
            Text(printable(name), style="cyan"),
            Text(f"{tensor.type.lower()} ({sizes})"),
            Text(scale, style="dim"),
        )
    return indented(Group(grid, *more(len(rows) - most)))


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
                "inputs": {key: _tensor_json(tensor) for key, tensor in inputs.items()},
                "outputs": {key: _tensor_json(tensor) for key, tensor in outputs.items()},
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


def _tensor_json(tensor: LiteTensor) -> dict[str, Any]:
    stored = tensor.quantization
    return {
        "name": tensor.name,
        "type": tensor.type,
        "shape": list(tensor.dims),
        "scale": list(stored.scale) if stored else [],
        "zero_point": list(stored.zero_point) if stored else [],
    }
