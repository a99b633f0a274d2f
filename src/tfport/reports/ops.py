"""Ops as text and as JSON: the contract of `tfport ops --json`, version 1.

The history of an op, the results of a search, the definition that a target registers, and the versions of a
builtin op of TensorFlow Lite.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.atlas.atlas import Atlas
from tfport.atlas.history import OpHistory, ProviderHistory, op_history
from tfport.atlas.kernel_history import KernelAvailability, device_order, kernel_text, merged
from tfport.atlas.lite.releases import EVERY, LiteOpHistory, LiteOpVersion
from tfport.atlas.op_definitions import FLAGS, arg_kind, arg_text, attr_def_text, register_op, value_text
from tfport.atlas.op_search import OpSummary
from tfport.atlas.release_spans import Span, spans_text
from tfport.check.lite.op_versions import features_of
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.registry.kernels import Kernel
from tfport.reports.console import INDENT, columns, facts, indented, title
from tfport.reports.layout import Group, ReportPart, Text
from tfport.words import count, printable

if TYPE_CHECKING:
    from tfport.atlas.target import Target


VERSION = 1
NEVER = "-"
MOST_SPANS = 3
HANGING = 4


def op_page(history: OpHistory, width: int) -> Iterator[ReportPart]:
    """The history of an op."""
    first, *others = history.provisions
    op = history.definition
    yield title(history.name, _where(first))
    yield facts(
        [
            ("inputs", map(arg_text, op.input_arg)),
            ("outputs", map(arg_text, op.output_arg)),
            ("attributes", map(attr_def_text, op.attr)),
            ("deprecated", [op.deprecation.explanation] * op.HasField("deprecation")),
            ("later", [f"{name} since {release}" for name, release in history.later.items()]),
            ("also in", (_where(provision) for provision in others if provision.releases)),
        ],
        width,
    )
    for provision in history.provisions:
        yield from _changes(provision, width)
    for provision in history.provisions:
        missing = history.kernels_missing if provision is history.stock else ()
        yield from _kernels(provision, history.type_attr, missing, width)
    yield from _compiled(history, width)


def _where(provision: ProviderHistory) -> str:
    provider = provision.package if not provision.library else f"{provision.package} with {provision.library}"
    return f"{provider} {_few(provision.releases)}"


def _few(releases: tuple[Span, ...]) -> str:
    """All spans, or the first and the last of many."""
    if len(releases) <= MOST_SPANS:
        return spans_text(releases)
    return f"{releases[0]}, … {releases[-1]}"


def _changes(provision: ProviderHistory, width: int) -> Iterator[ReportPart]:
    if provision.changes:
        yield title("changes", _provider_note(provision))
        yield columns(((c.release, "\n".join(c.changes)) for c in provision.changes), width)


def _provider_note(provision: ProviderHistory) -> str:
    """The library or package, unless it is TensorFlow itself."""
    return "" if (provision.package, provision.library) == ("tensorflow", "") else _name(provision)


def _name(provision: ProviderHistory) -> str:
    return provision.library or provision.package


def _kernels(
    provision: ProviderHistory, type_attr: str | None, missing: tuple[Span, ...], width: int
) -> Iterator[ReportPart]:
    if provision.kernels:
        yield title(f"kernels by {type_attr}" if type_attr else "kernels", _provider_note(provision))
        yield columns(_kernel_rows(provision.kernels, bool(type_attr)), width)
    if missing:
        if not provision.kernels:
            yield title("kernels")
        yield indented(Text(f"not recorded: {spans_text(missing)}", style="dim"))


def _compiled(history: OpHistory, width: int) -> Iterator[ReportPart]:
    """What XLA compiles; releases register that with the first compilation, so the atlas does not have it."""
    from tfport.check.compiled.jit_history import jit_history  # here, as a search does not need it

    rows = []
    for on_device in jit_history(history):
        lines = list(_kernel_rows(on_device.kernels, bool(history.type_attr)))
        rows += lines or [(on_device.device, f"none in {on_device.recorded}", "")]
    if rows:
        yield title("kernels for jit_compile=True")
        yield columns(rows, width)


def _kernel_rows(lines: list[KernelAvailability], typed: bool) -> Iterator[tuple[str, str, str]]:
    """Devices with the same kernels share rows, as those of XLA do."""
    by_device: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        by_device.setdefault(line.device, []).append((_few(line.releases), _for(line, typed)))
    devices_by_rows: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for device, rows in by_device.items():
        devices_by_rows.setdefault(tuple(rows), []).append(device)
    for shared, devices in devices_by_rows.items():
        for i, row in enumerate(shared):
            yield "" if i else "\n".join(devices), *row


def _for(line: KernelAvailability, typed: bool) -> str:
    types = ", ".join(line.types) or ("any" if typed else "")
    label = f"label {line.label}" if line.label else ""
    return ": ".join(part for part in (label, types) if part)


def search_results(pattern: str, matches: list[OpSummary], width: int) -> Iterator[ReportPart]:
    """The ops that match a pattern."""
    yield title(f"{count(len(matches), 'op')} matching {pattern}")
    rows = ((op.name, _few(op.releases), ", ".join(map(_file_name, op.providers))) for op in matches)
    yield columns(rows, width)


def _file_name(provider: str) -> str:
    return provider.rpartition("/")[2]


def registered_op(target: Target, name: str, width: int) -> Iterator[ReportPart]:
    """The definition and all kernels that one target registers."""
    registry = target.registry
    provider = registry.provider(name)
    by = f", by {provider.name}" if provider and provider.name != target.name else ""
    yield title(name, f"{target.name}{by}")
    yield indented(Group(*_code(register_op(registry[name]), width - INDENT)))
    kernels = sorted(merged(registry.kernels(name)), key=lambda kernel: device_order(kernel.device))
    yield title("kernels", "" if kernels else "none recorded")
    head = ("device", "priority", "in host memory", "for")
    rows = [
        (k.device, str(k.priority or ""), "\n".join(k.host_memory), kernel_text(k, "\n")) for k in kernels
    ]
    yield columns(rows, width, head=head if rows else ())


def _code(lines: list[str], width: int) -> Iterator[Text]:
    for line in lines:
        indent = len(line) - len(line.lstrip()) + HANGING
        yield Text("\n".join(textwrap.wrap(printable(line), width, subsequent_indent=" " * indent)))


def lite_op_page(history: LiteOpHistory, width: int) -> Iterator[ReportPart]:
    """A line for each version: since when, and for which nodes."""
    yield title(history.op, f"builtin op {history.number} of TensorFlow Lite")
    rows = [_lite_row(history.op, version) for version in history.versions]
    yield columns(rows, width, head=("version", *EVERY, "for nodes where"))


def _lite_row(op: str, version: LiteOpVersion) -> tuple[str, ...]:
    since = (version.since.get(package, NEVER) for package in EVERY)
    return str(version.version), *since, "; ".join(features_of(op, version.version))


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
