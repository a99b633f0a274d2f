"""An inspection as text, and as JSON: the contract of `tfport inspect --json`, version 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tfport.atlas.known_ops import known_ops
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.graph.state import GraphTable, GraphVariable
from tfport.inspection.inspection import KERAS_2, Inspection, StoredTensor
from tfport.rendering import json_of
from tfport.reports.console import GAP, LABEL, cut_off, facts, indented, more, text_of, title
from tfport.reports.layout import Grid, Group, ReportPart, Text
from tfport.reports.outputs import outputs_json
from tfport.words import byte_size, count, printable

VERSION = 1
MOST_ROWS = 8
MOST_TENSORS = 50


@text_of(Inspection)
def inspection_text(report: Inspection, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """Render the whole report; long lists are cut unless `everything` is set."""
    most = 1 << 30 if everything else MOST_ROWS
    if report.lite is not None:
        from tfport.reports.inspection_lite import lite_rows, render_lite

        yield title(report.model, report.format.name)
        yield facts(lite_rows(report.lite), width)
        yield from render_lite(report.lite, width, everything=everything)
        return
    yield from _head(report, width, most)
    if report.keras is not None:
        from tfport.reports.inspection_keras import render_keras  # other models do not need the layers

        yield from render_keras(report.keras, width, everything=everything)
    yield from _signatures(report, width, most)
    yield from _forests(report, width, most)
    yield from _ops(report, width, most)
    yield from _state(report, most)
    yield from _problems(report, most)


def _head(report: Inspection, width: int, most: int) -> Iterator[ReportPart]:
    has_graph = bool(report.nodes)
    yield title(report.model, report.format.name)
    versions = [f"producer {report.graph_def}", f"min_consumer {report.min_consumer}"]
    rows = [
        *_saved_by(report),
        ("GraphDef", versions if has_graph and not _is_keras_file(report) else []),
        ("tags", _cut(["+".join(tags) for tags in report.tag_sets], most)),
        ("graph", [count(report.nodes, "node"), count(report.functions, "function")] * has_graph),
        ("devices", _cut(report.devices, most)),
    ]
    yield facts(rows, width)


def _is_keras_file(report: Inspection) -> bool:
    return report.keras is not None and not report.keras.is_saved_model


def _saved_by(report: Inspection) -> Iterator[tuple[str, list[str]]]:
    if report.keras is None:
        yield "made by", [*_tensorflow(report), *report.made_with] or ["unknown"]
        return
    from tfport.reports.inspection_keras import compile_rows, made_by

    keras = made_by(report.keras)
    if report.keras.is_saved_model:
        others = [trace for trace in report.made_with if trace != KERAS_2]
        keras = [*_tensorflow(report), *keras, *others]
    yield "made by", keras
    yield from compile_rows(report.keras)


def _tensorflow(report: Inspection) -> list[str]:
    return [f"TensorFlow {report.tensorflow}"] if report.tensorflow not in ("", "unknown") else []


def _grid() -> Grid:
    return Grid(gap=GAP)


def _signatures(report: Inspection, width: int, most: int) -> Iterator[ReportPart]:
    for name, signature in list(report.signatures.items())[:most]:
        yield title(f"signature {name}", signature.method.rpartition("/")[2])
        yield _signature(signature, max(most, MOST_TENSORS))
    if (left_out := len(report.signatures) - most) > 0:
        yield title(f"… {count(left_out, 'more signature')}; --all shows them")
    if report.fetched is not None:
        guessed = "no signatures", "guessed outputs and their inputs; --fetch names others"
        yield title(*(guessed if report.fetched.guessed else ("fetched outputs", "and their inputs")))
        yield _signature(report.fetched.signature, most)
        others = f"{count(report.fetched.unneeded, 'node')} that neither they nor loading and saving need"
        yield facts([("rest", [others] * bool(report.fetched.unneeded))], width)


def _forests(report: Inspection, width: int, most: int) -> Iterator[ReportPart]:
    for forest in report.forests:
        yield title("decision forest", printable(forest.prefix))
        rows = [
            (
                "kind",
                [forest.kind, forest.task, *([f"label {printable(forest.label)}"] * bool(forest.label))],
            ),
            ("trees", [count(forest.trees, "tree"), count(forest.nodes, "node"), f"depth {forest.depth}"]),
            (
                "features",
                _cut([f"{printable(name)} {column}" for name, column in forest.features.items()], most),
            ),
        ]
        yield facts(rows, width)


def _signature(signature: Signature, most: int) -> ReportPart:
    ins = [("in", name, spec) for name, spec in signature.inputs.items()]
    outs = [("out", name, spec) for name, spec in signature.outputs.items()]
    left_out = max(0, len(ins) - most) + max(0, len(outs) - most)
    return _tensors(ins[:most] + outs[:most], left_out)


def _tensors(rows: list[tuple[str, str, TensorSpec]], left_out: int) -> ReportPart:
    grid = _grid()
    for direction, name, spec in rows:
        type_and_shape = f"{spec.dtype} {spec.shape}" + ("" if spec.form == "dense" else f" {spec.form}")
        grid.add_row(
            Text(direction, style="dim"),
            Text(printable(name), style="cyan"),
            Text(printable(type_and_shape)),
            Text(printable(", ".join(spec.tensors)), style="dim"),
        )
    return indented(Group(grid, *more(left_out)))


def _cut(names: list[str], most: int) -> list[str]:
    return names[:most] + [f"… {len(names) - most} more; --all shows them"] * (len(names) > most)


def _ops(report: Inspection, width: int, most: int) -> Iterator[ReportPart]:
    census = report.census
    if census.total:
        yield title("ops", count(len(census.total), "kind"))
        same = _same_counts(census.signatures)[:most]
        rows = [(_names(names), _counts(counter)) for names, counter in same]
        rows += [("loading only", _counts(census.loading)), ("saving only", _counts(census.saving))]
        rows.append(("the rest", _counts(census.rest)))
        rows.append(("newest", [f"{op} (since {release})" for op, release in report.newest_ops.items()]))
        rows.append(("removed", [f"{op} (until {release})" for op, release in report.removed_ops.items()]))
        yield facts(rows, width)
    if report.custom_ops:
        yield title("custom ops", "in no recorded release or add-on")
        yield facts([("", _counts(report.custom_ops))], width)
    if report.addon_ops:
        yield title("ops of add-ons", "each with the packages or contrib libraries that register it")
        yield facts(list(report.addon_ops.items()), width)


def _same_counts(counters: dict[str, Counter[str]]) -> list[tuple[list[str], Counter[str]]]:
    """Group signatures with the same number of nodes of each op."""
    groups: dict[frozenset[tuple[str, int]], tuple[list[str], Counter[str]]] = {}
    for name, counter in counters.items():
        groups.setdefault(frozenset(counter.items()), ([], counter))[0].append(name)
    return list(groups.values())


def _names(names: list[str]) -> str:
    """All names if they fit, else the first one and the number of the others."""
    if names == [""]:
        return "outputs"
    joined = ", ".join(names[:MOST_ROWS])
    if len(names) == 1 or (len(names) <= MOST_ROWS and len(joined) <= LABEL):
        return joined
    others = f" and {len(names) - 1} more"
    return cut_off(names[0], LABEL - len(others)) + others


def _counts(counter: Counter[str]) -> list[str]:
    rows = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return [f"{op} {n}" if n > 1 else op for op, n in rows]


def _state(report: Inspection, most: int) -> Iterator[ReportPart]:
    if report.stored:
        size = sum(t.nbytes or 0 for t in report.stored)
        yield title("checkpoint", f"{count(len(report.stored), 'tensor')}, {byte_size(size)}")
        rows = sorted(report.stored, key=lambda t: -(t.nbytes or 0))
        yield _rows(((t.variable or t.key, f"{t.dtype} {t.shape}", byte_size(t.nbytes)) for t in rows), most)
    elif report.variables:
        yield title("variables", count(len(report.variables), "variable"))
        yield _rows(((v.name, f"{v.dtype} {v.shape}", "") for v in report.variables), most)
    if report.tables:
        yield title("tables")
        yield _rows(
            ((t.name, f"{t.key} → {t.value}", t.asset or t.filled_by or "") for t in report.tables), most
        )
    if report.assets:
        yield title("assets")
        yield _rows(((a.file, a.tensor, byte_size(a.nbytes)) for a in report.assets), most)


def _rows(rows: Iterable[tuple[str, str, str]], most: int) -> ReportPart:
    grid = _grid()
    all_rows = list(rows)
    for name, *cells in all_rows[:most]:
        middle, right = map(printable, cells)
        grid.add_row(Text(printable(name), style="cyan"), Text(middle), Text(right, justify="right"))
    return indented(Group(grid, *more(len(all_rows) - most)))


def _problems(report: Inspection, most: int) -> Iterator[ReportPart]:
    if report.problems:
        yield title("problems")
        shown = [Text(printable(problem), style="red") for problem in report.problems[:most]]
        yield indented(Group(*shown, *more(len(report.problems) - most)))


@json_of(Inspection)
def inspection_json(report: Inspection) -> dict[str, Any]:
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
        "signatures": {name: _signature_json(s) for name, s in report.signatures.items()},
        "inputs": {name: _tensor_json(spec) for name, spec in report.inputs.items()},
        "outputs": list(report.outputs),
        "fetched": outputs_json(report.fetched),
        "graph": {"nodes": report.nodes, "functions": report.functions, "devices": report.devices},
        "ops": {
            "signatures": {name: _counts_json(c) for name, c in report.census.signatures.items()},
            "loading": _counts_json(report.census.loading),
            "saving": _counts_json(report.census.saving),
            "rest": _counts_json(report.census.rest),
            "total": _counts_json(report.census.total),
            "custom": _counts_json(report.custom_ops),
            "addons": report.addon_ops,
            "newest": report.newest_ops,
            "gone": report.removed_ops,
            "releases": {op: _lifetime(op) for op in sorted(report.census.total)},
        },
        "variables": [
            {"name": v.name, **_array_json(v), "key": v.key, "slice": v.slice or None}
            for v in report.variables
        ],
        "checkpoint": [
            {"key": t.key, **_array_json(t), "bytes": t.nbytes, "variable": t.variable} for t in report.stored
        ],
        "tables": [_table_json(t) for t in report.tables],
        "assets": [{"file": a.file, "tensor": a.tensor, "bytes": a.nbytes} for a in report.assets],
        "problems": report.problems,
        "keras": _keras(report),
        "lite": _lite(report),
        "forests": [
            {
                "prefix": forest.prefix,
                "kind": forest.kind,
                "task": forest.task,
                "label": forest.label,
                "trees": forest.trees,
                "nodes": forest.nodes,
                "leaves": forest.leaves,
                "depth": forest.depth,
                "node_format": forest.node_format,
                "features": forest.features,
            }
            for forest in report.forests
        ],
    }


def _lifetime(op: str) -> dict[str, str | None]:
    """The first release of TensorFlow with an op, and the last one if newer ones do not have it."""
    since, until = known_ops().lifetime(op)
    return {"since": since, "until": until}


def _keras(report: Inspection) -> dict[str, Any] | None:
    if report.keras is None:
        return None
    from tfport.reports.inspection_keras import keras_json  # other models do not need the layers

    return keras_json(report.keras)


def _lite(report: Inspection) -> dict[str, Any] | None:
    if report.lite is None:
        return None
    from tfport.reports.inspection_lite import lite_json  # other models do not need it

    return lite_json(report.lite)


def _signature_json(signature: Signature) -> dict[str, Any]:
    return {
        "method": signature.method,
        "inputs": {name: _tensor_json(spec) for name, spec in signature.inputs.items()},
        "outputs": {name: _tensor_json(spec) for name, spec in signature.outputs.items()},
        "defaults": sorted(signature.defaults),
    }


def _tensor_json(spec: TensorSpec) -> dict[str, Any]:
    return {
        "dtype": str(spec.dtype),
        "shape": _shape(spec.shape),
        "form": spec.form,
        "tensors": list(spec.tensors),
    }


def _array_json(what: GraphVariable | StoredTensor) -> dict[str, Any]:
    return {"dtype": str(what.dtype), "shape": _shape(what.shape)}


def _table_json(table: GraphTable) -> dict[str, Any]:
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


def _counts_json(counter: Counter[str]) -> dict[str, int]:
    """The number of nodes of each op, the most frequent first."""
    return dict(sorted(counter.items(), key=lambda pair: (-pair[1], pair[0])))
