"""An inspection as a person reads it: at most 80 columns, the most asked for first."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from tfport.check.inspection import Inspection
from tfport.graph.model import Signature, TensorSpec

WIDTH = 80
INDENT = GAP = 2
MOST_ROWS = 8


def plain(report: Inspection, *, everything: bool = False) -> str:
    """The text without colour, for pipes and `str`."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, no_color=True, highlight=False)
    console.print(render(report, WIDTH, everything=everything))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def render(report: Inspection, width: int, *, everything: bool = False) -> RenderableType:
    """The whole report; long lists are cut unless `everything` is asked for."""
    most = 1 << 30 if everything else MOST_ROWS
    return Group(
        _head(report, width),
        *_entrances(report, width, most),
        *_ops(report, width),
        *_state(report, most),
        *_problems(report),
    )


def _head(report: Inspection, width: int) -> RenderableType:
    there = bool(report.nodes)
    return Group(
        _title(report.model, report.kind.value),
        _facts(
            [
                ("made by", [*_tensorflow(report), *report.made_with] or ["unknown"]),
                ("GraphDef", [f"producer {report.graph_def}", f"min_consumer {report.min_consumer}"] * there),
                ("tags", ["+".join(tags) for tags in report.tag_sets]),
                ("graph", [_count(report.nodes, "node"), _count(report.functions, "function")] * there),
                ("devices", report.devices),
            ],
            width,
        ),
    )


def _tensorflow(report: Inspection) -> list[str]:
    return [f"TensorFlow {report.tensorflow}"] if report.tensorflow not in ("", "unknown") else []


def _title(text: str, note: str = "") -> Text:
    return Text.assemble("\n", (text, "bold"), f"  {note}" if note else "")


def _facts(rows: Iterable[tuple[str, list[str]]], width: int) -> RenderableType:
    """Names with what belongs to each, flowing over lines without breaking an item."""
    grid = _grid()
    shown = [(name, items) for name, items in rows if items]
    label = max((len(name) for name, _ in shown), default=0)
    for name, items in shown:
        grid.add_row(Text(name, style="dim"), Text("\n".join(_flow(items, width - INDENT - label - GAP))))
    return Padding(grid, (0, 0, 0, INDENT))


def _flow(items: list[str], width: int) -> Iterator[str]:
    line = ""
    for i, item in enumerate(items):
        word = item + ("," if i < len(items) - 1 else "")
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _grid() -> Grid:
    return Grid.grid(padding=(0, GAP))


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _entrances(report: Inspection, width: int, most: int) -> Iterator[RenderableType]:
    for name, signature in report.signatures.items():
        yield _title(f"signature {name}", signature.method.rpartition("/")[2])
        yield _signature(signature)
    if report.inputs or report.outputs:
        yield _title("no signatures", "placeholders, and results that nothing reads")
        yield _tensors([("in", n, s) for n, s in list(report.inputs.items())[:most]])
        yield _facts([("out", _cut(report.outputs, most))], width)


def _signature(signature: Signature) -> RenderableType:
    rows = [("in", name, spec) for name, spec in signature.inputs.items()]
    return _tensors(rows + [("out", name, spec) for name, spec in signature.outputs.items()])


def _tensors(rows: list[tuple[str, str, TensorSpec]]) -> RenderableType:
    grid = _grid()
    for way, name, spec in rows:
        kind = f"{spec.dtype} {spec.shape}" + ("" if spec.form == "dense" else f" {spec.form}")
        grid.add_row(
            Text(way, style="dim"),
            Text(name, style="cyan"),
            Text(kind),
            Text(", ".join(spec.tensors), style="dim"),
        )
    return Padding(grid, (0, 0, 0, INDENT))


def _cut(names: list[str], most: int) -> list[str]:
    return names[:most] + [f"… {len(names) - most} more; --all shows them"] * (len(names) > most)


def _ops(report: Inspection, width: int) -> Iterator[RenderableType]:
    census = report.census
    if census.total:
        yield _title("ops", _count(len(census.total), "kind"))
        rows = [(", ".join(names), _counts(counter)) for names, counter in _same_counts(census.signatures)]
        rows += [("loading only", _counts(census.loading)), ("saving only", _counts(census.saving))]
        rows.append(("the rest", _counts(census.rest)))
        rows.append(("newest", [f"{op} (since {release})" for op, release in report.newest_ops.items()]))
        rows.append(("gone", [f"{op} (until {release})" for op, release in report.gone_ops.items()]))
        yield _facts(rows, width)
    if report.custom_ops:
        yield _title("not TensorFlow's own ops", "in no recorded release")
        yield _facts([("", _counts(report.custom_ops))], width)
    if report.contrib_ops:
        yield _title("ops of libraries beside TensorFlow's own")
        yield _facts([(library, [op]) for op, library in report.contrib_ops.items()], width)


def _same_counts(counters: dict[str, Counter[str]]) -> list[tuple[list[str], Counter[str]]]:
    """Signatures that use the same ops equally often, together."""
    groups: list[tuple[list[str], Counter[str]]] = []
    for name, counter in counters.items():
        for names, other in groups:
            if other == counter:
                names.append(name)
                break
        else:
            groups.append(([name], counter))
    return groups


def _counts(counter: Counter[str]) -> list[str]:
    rows = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return [f"{op} {n}" if n > 1 else op for op, n in rows]


def _state(report: Inspection, most: int) -> Iterator[RenderableType]:
    if report.stored:
        size = sum(t.nbytes or 0 for t in report.stored)
        yield _title("checkpoint", f"{_count(len(report.stored), 'tensor')}, {byte_size(size)}")
        rows = sorted(report.stored, key=lambda t: -(t.nbytes or 0))
        yield _rows(((t.variable or t.key, f"{t.dtype} {t.shape}", byte_size(t.nbytes)) for t in rows), most)
    elif report.variables:
        yield _title("variables", _count(len(report.variables), "variable"))
        yield _rows(((v.name, f"{v.dtype} {v.shape}", "") for v in report.variables), most)
    if report.tables:
        yield _title("tables")
        yield _rows(
            ((t.name, f"{t.key} → {t.value}", t.asset or t.filled_by or "") for t in report.tables), most
        )
    if report.assets:
        yield _title("assets")
        yield _rows(((a.file, a.tensor, byte_size(a.nbytes)) for a in report.assets), most)


def _rows(rows: Iterable[tuple[str, str, str]], most: int) -> RenderableType:
    grid = _grid()
    found = list(rows)
    for name, kind, note in found[:most]:
        grid.add_row(Text(name, style="cyan"), Text(kind), Text(note, justify="right"))
    if len(found) > most:
        grid.add_row(Text(f"… {len(found) - most} more; --all shows them", style="dim"), Text(), Text())
    return Padding(grid, (0, 0, 0, INDENT))


def _problems(report: Inspection) -> Iterator[RenderableType]:
    if report.problems:
        yield _title("problems")
        for problem in report.problems:
            yield Padding(Text(problem, style="red"), (0, 0, 0, INDENT))


def byte_size(n: int | None) -> str:
    """`25.6 MB`; nothing where it is not known."""
    if n is None:
        return ""
    size = float(n)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
