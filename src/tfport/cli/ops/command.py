"""`tfport ops NAME…`: the history of an op, or what a target knows of it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfport.atlas.atlas import Atlas
    from tfport.registry.registry import Registry

VERSION = 1
NO, CANNOT_TELL = 1, 2


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "ops",
        help="the history of an op: releases, attributes, kernels, who provides it",
        description="Say since when an op is registered and by whom, how its definition changed, and for "
        "which devices and types it has had kernels, as the recorded builds told it.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="an op, such as FusedBatchNormV3")
    parser.add_argument(
        "--search", metavar="PATTERN", help="list the ops whose names contain it; * and ? match"
    )
    parser.add_argument(
        "--on", metavar="TARGET", help="show what one target registers: definition and kernels"
    )
    parser.add_argument(
        "--tfport", action="store_true", help="list the ops that tfport runs itself, and how; or those named"
    )
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.errors import Error

    if args.tfport:
        if args.search or args.on:
            raise Error("--tfport lists what tfport runs; expected no --search or --on beside it")
        from tfport.cli.ops.tfport_ops import list_own

        return list_own(args)
    if bool(args.names) == bool(args.search):
        raise Error("expected the name of an op, or --search PATTERN")
    if args.search and args.on:
        raise Error("--search looks in all recorded builds; expected names beside --on")
    if args.search:
        return search(atlas(), args)
    return on_target(atlas(), args) if args.on else histories(atlas(), args)


def search(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.atlas.search import search_ops
    from tfport.errors import Error

    found = search_ops(atlas, args.search)
    if args.json:
        from tfport.atlas.history_json import summary_json
        from tfport.cli.json_output import print_json

        ops = [summary_json(op) for op in found]
        print_json({"version": VERSION, "search": args.search, "ops": ops})
    elif found:
        from tfport.check.console import show
        from tfport.cli.ops.view import found_ops

        show(lambda width: found_ops(args.search, found, width))
    else:
        raise Error(f"no recorded op has a name like {args.search!r}")
    return 0


def histories(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.atlas.history import op_history

    asked = {name: op_history(atlas, name) for name in args.names}
    found = [history for history in asked.values() if history]
    unknown = [name for name, history in asked.items() if not history]
    if args.json:
        from tfport.atlas.history_json import history_json
        from tfport.cli.json_output import print_json

        ops = [history_json(history) for history in found]
        print_json({"version": VERSION, "ops": ops, "unknown": close_names(atlas, unknown)})
    elif found:
        from tfport.check.console import show
        from tfport.cli.ops.view import op_page

        show(lambda width: (part for history in found for part in op_page(history, width)))
    return complain(atlas, unknown)


def close_names(atlas: Atlas, unknown: list[str]) -> dict[str, list[str]]:
    from tfport.atlas.search import suggestions

    return {name: suggestions(atlas, name) for name in unknown}


def complain(atlas: Atlas, unknown: list[str]) -> int:
    from tfport.check.printable import printable

    for name, close in close_names(atlas, unknown).items():
        hint = f"; {did_you_mean(close)}" if close else ""
        sentence = printable(f"{name}: in no recorded build{hint}")
        print(f"tfport: {sentence}", file=sys.stderr)
    return CANNOT_TELL if unknown else 0


def on_target(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.cli.targets.command import only_target

    target = only_target(args.on)
    registry = target.registry
    missing = [name for name in args.names if name not in registry]
    there = [name for name in args.names if name in registry]
    if args.json:
        from tfport.cli.json_output import print_json

        ops = [on_target_json(registry, name) for name in there]
        print_json({"version": VERSION, "target": target.requirement, "ops": ops, "missing": missing})
    elif there:
        from tfport.check.console import show
        from tfport.cli.ops.view import registered_op

        show(lambda width: (part for name in there for part in registered_op(target, name, width)))
    for name in missing:
        print(f"tfport: {target.name} has no op {name}{elsewhere(atlas, name)}", file=sys.stderr)
    return NO if missing else 0


def on_target_json(registry: Registry, name: str) -> dict[str, Any]:
    from tfport.atlas.history_json import definition_json, kernel_json

    provider = registry.provider(name)
    return {
        "name": name,
        "provider": provider.name if provider else None,
        "definition": definition_json(registry[name]),
        "kernels": [kernel_json(kernel) for kernel in registry.kernels(name)],
    }


def elsewhere(atlas: Atlas, name: str) -> str:
    """Who has an op that a target has not."""
    from tfport.atlas.search import suggestions, summaries
    from tfport.atlas.spans import spans_text

    (found,) = summaries(atlas, [name])
    places = [f"tensorflow {spans_text(found.releases)}"] if found.releases else []
    places += found.providers
    if places:
        return f"; it is in {', '.join(places)}"
    close = suggestions(atlas, name)
    return f", nor has any recorded build{f'; {did_you_mean(close)}' if close else ''}"


def did_you_mean(close: list[str]) -> str:
    *others, last = close
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"
