"""`tfport ops --tfport`: the ops of tfport's own runtime, how each runs, and the source of custom ops."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping

from tfport.reports.layout import ReportPart
from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.own_target import IN_NUMPY, IN_ONNX, WHILE_PLANNING, own_target, ways_to_run

VERSION = 1
NO = 1
_TITLES = {
    (IN_ONNX, IN_NUMPY): "in ONNX and in NumPy",
    (IN_ONNX,): "in ONNX",
    (IN_NUMPY,): "in NumPy",
    (WHILE_PLANNING,): "while planning",
    (): "defined, but without a kernel",
}


def list_tfport_ops(args: argparse.Namespace) -> int:
    known = own_target().registry
    names = args.names or list(known)
    ways = {name: tuple(ways_to_run(name, PROCESS_WIDE)) for name in names if name in known}
    providers = {name: PROCESS_WIDE.provider_of(name) for name in ways}
    missing = [name for name in names if name not in known]
    if args.json:
        from tfport.cli.json_output import print_json

        ops = [{"name": name, "runs": list(how), "provider": providers[name]} for name, how in ways.items()]
        print_json({"version": VERSION, "target": "tfport", "ops": ops, "missing": missing})
    elif ways:
        from tfport.reports.console import show

        show(lambda width: _render(ways, providers, width))
    for name in missing:
        print(f"tfport: {name} has no kernel in tfport", file=sys.stderr)
    return NO if missing else 0


def _render(
    ways: Mapping[str, tuple[str, ...]], providers: Mapping[str, str | None], width: int
) -> Iterator[ReportPart]:
    from tfport.reports.console import flowing, indented, title

    count = sum(map(bool, ways.values()))
    yield title("tfport runs", "1 op" if count == 1 else f"{count} ops")
    for how in dict.fromkeys(ways.values()):
        names = [name for name, way in ways.items() if way == how]
        yield title(_TITLES.get(how, " and ".join(how)), str(len(names)))
        yield indented(flowing(names, width - 2))
    for provider in dict.fromkeys(filter(None, providers.values())):
        names = [name for name, source in providers.items() if source == provider]
        yield title(f"from {provider}", str(len(names)))
        yield indented(flowing(names, width - 2))
