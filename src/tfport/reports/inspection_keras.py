"""The Keras part of an inspection as text and JSON: the key `keras` of `tfport inspect --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.frontends.keras.summary import LayerSummary
from tfport.graph.building.node_builder import Dims
from tfport.inspection.inspection import KERAS_2
from tfport.inspection.keras import KerasInspection, is_custom
from tfport.reports.console import GAP, INDENT, facts, indented, more, title
from tfport.reports.layout import Grid, Group, ReportPart, Text
from tfport.words import count, printable

MOST_LAYERS = 200
SETTINGS = ("learning_rate", "lr")
"""The settings of an optimizer that are worth a line."""
NEST = "  "
NARROW = 12
"""A column of names is at least this wide."""


def made_by(report: KerasInspection) -> list[str]:
    """What saved the file."""
    file = report.file
    if report.is_saved_model:  # TensorFlow and its Keras
        return [f"Keras {file.keras_version}" if file.keras_version else KERAS_2]
    no_version = "Keras 1, because the file has no version" if report.has_architecture else "unknown"
    version = f"Keras {file.keras_version}" if file.keras_version else no_version
    parts = [
        file.generated_by or version,
        f"{file.backend} backend" if file.backend else "",
        file.saved_at.replace("@", " "),
    ]
    return [part for part in parts if part]


def compile_rows(report: KerasInspection) -> Iterator[tuple[str, list[str]]]:
    """The optimizer and the settings of `model.compile`."""
    optimizer, settings = report.optimizer
    if optimizer:
        notes = [
            f"{name} {settings[name]:.4g}" for name in SETTINGS if isinstance(settings.get(name), float | int)
        ]
        yield "optimizer", [optimizer, *notes]
    yield from report.compiled.items()


def render_keras(report: KerasInspection, width: int, *, everything: bool) -> Iterator[ReportPart]:
    most = 1 << 30 if everything else MOST_LAYERS
    if report.summary.layers or (report.has_architecture and not report.is_saved_model):
        yield from _layers(report, width, most)
    elif report.summary.stored:
        yield from _arrays(report, width, most)
    if report.custom_classes:
        yield title("custom classes", "that tfport does not build")
        yield facts([("", report.custom_classes)], width)
    if report.file.unsafe:
        yield title("unsafe content", "that Keras would run or open; tfport does not")
        yield facts([(unsafe.where or "the file", [unsafe.detail]) for unsafe in report.file.unsafe], width)
    if report.no_graph:
        yield title("not runnable")
        yield indented(Text(printable(report.no_graph), style="red"))


def _layers(report: KerasInspection, width: int, most: int) -> Iterator[ReportPart]:
    summary = report.summary
    own = sum(layer.depth == 0 for layer in summary.layers)
    name = f"{summary.class_name} model `{summary.name}`".strip()
    note = f"{name}, {count(own, 'layer')}" if summary.layers else "not readable"
    yield title("layers", note if report.has_weights else f"{note}; the file has no weights")
    if not summary.layers:
        return
    shown = summary.layers[:most]
    yield indented(Group(_table(shown, width - INDENT), *more(len(summary.layers) - most)))
    yield facts([("parameters", [_totals(report)])], width)


def _totals(report: KerasInspection) -> str:
    total, trainable = report.summary.parameters, report.summary.trainable
    if total is None:
        return "?"
    split = (
        f" ({trainable:,} trainable, {total - trainable:,} non-trainable)" if trainable is not None else ""
    )
    return f"{total:,}{split}"


def _table(layers: list[LayerSummary], width: int) -> Grid:
    """Layers and what they are connected to share the width that shapes and numbers leave."""
    head = ("layer (class)", "output shape", "parameters", "connected to")
    rows = [
        (
            f"{NEST * layer.depth}{layer.name} ({layer.class_name})",
            "\n".join(map(_shape, layer.shapes)) or "?",
            "?" if layer.parameters is None else f"{layer.parameters:,}",
            ", ".join(layer.inputs),
        )
        for layer in layers
    ]
    connected = any(layer.inputs for layer in layers)
    natural = [max(len(line) for row in (head, *rows) for line in row[i].split("\n")) for i in range(4)]
    natural[1] = min(natural[1], max(NARROW, width // 3))
    left = width - natural[1] - natural[2] - GAP * (3 if connected else 2)
    names = min(natural[0], max(NARROW, left - min(natural[3], left // 2) if connected else left))
    grid = Grid(gap=GAP)
    grid.add_column(width=names, overflow="fold")
    grid.add_column(width=natural[1], overflow="fold")
    grid.add_column(no_wrap=True, justify="right")
    if connected:
        grid.add_column(width=max(NARROW, left - names), overflow="fold")
    for i, row in enumerate((head, *rows)):
        cells = row if connected else row[:3]
        grid.add_row(
            *(Text("\n".join(map(printable, cell.split("\n"))), style="" if i else "dim") for cell in cells)
        )
    return grid


def _shape(shape: Dims) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def _arrays(report: KerasInspection, width: int, most: int) -> Iterator[ReportPart]:
    """The weights of a file without an architecture."""
    summary = report.summary
    yield title(
        "weights", f"of {count(len(summary.stored), 'layer')}, {_totals(report)} parameters; no architecture"
    )
    rows = [
        (owner, [f"{array.dtype} {_shape(array.shape)}" for array in arrays])
        for owner, arrays in summary.stored.items()
    ]
    yield facts(rows[:most], width)
    yield from more(len(rows) - most)


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
        "layers": [_layer_json(layer) for layer in summary.layers],
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


def _layer_json(layer: LayerSummary) -> dict[str, Any]:
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
