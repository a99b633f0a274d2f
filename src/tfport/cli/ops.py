"""`tfport ops NAME…`: show the history of an op, or what a target registers for it."""

from __future__ import annotations

import argparse
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from tfport.cli.arguments import add_json
from tfport.cli.commands import UNDECIDED, command

if TYPE_CHECKING:
    from tfport.atlas.atlas import Atlas
    from tfport.atlas.target import Target
    from tfport.registry.registry import OpRegistry

VERSION = 1
NO = 1


@command(
    "ops",
    order=12,
    help="show an op's history: releases, attributes, kernels",
    description="Show which releases and packages register an op, how its definition changed, and for which "
    "devices and types it has kernels, according to the recorded builds.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="an op, such as FusedBatchNormV3, or TensorFlow Lite's CONV_2D",
    )
    parser.add_argument(
        "--search",
        metavar="PATTERN",
        help="list the ops whose names contain PATTERN; * and ? are wildcards",
    )
    parser.add_argument(
        "--on", metavar="TARGET", help="show the definition and the kernels that one target registers"
    )
    parser.add_argument(
        "--tfport",
        action="store_true",
        help="show how tfport itself runs the named ops (default: all that it supports)",
    )
    parser.add_argument(
        "--coverage",
        nargs="+",
        metavar="MODEL",
        help="list the ops in these models, or in folders of models, that tfport lacks, and how many "
        "models need each",
    )
    parser.add_argument("--package", metavar="NAME", help="show which of a package's ops tfport runs")
    parser.add_argument("--all", action="store_true", help="do not shorten long lists")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.errors import Error

    if args.coverage or args.package:
        if args.names or args.search or args.on or args.tfport or (args.coverage and args.package):
            raise Error("--coverage and --package stand alone")
        return model_coverage(args) if args.coverage else coverage_of_package(args)
    if args.tfport:
        if args.search or args.on:
            raise Error("--tfport cannot be combined with --search or --on")
        return tfport_ops(args)
    if bool(args.names) == bool(args.search):
        raise Error("expected either names of ops or --search PATTERN")
    if args.search and args.on:
        raise Error("--search cannot be combined with --on; name the ops instead")
    if args.search:
        return search(atlas(), args)
    return on_target(atlas(), args) if args.on else histories(atlas(), args)


def search(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.atlas.op_search import search_ops
    from tfport.errors import Error

    matches = search_ops(atlas, args.search)
    if args.json:
        from tfport.cli.output import print_json
        from tfport.reports.ops import summary_json

        ops = [summary_json(op) for op in matches]
        print_json({"version": VERSION, "search": args.search, "ops": ops})
    elif matches:
        from tfport.reports.console import show
        from tfport.reports.ops import search_results

        show(lambda width: search_results(args.search, matches, width))
    else:
        raise Error(f"no recorded op matches {args.search!r}")
    return 0


def histories(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.atlas.history import op_history
    from tfport.atlas.lite.releases import lite_op_history

    by_name = {name: op_history(atlas, name) for name in args.names}
    known = [history for history in by_name.values() if history]
    lite = [history for name in args.names if (history := lite_op_history(name))]
    unknown = [n for n, history in by_name.items() if not history and n not in {h.op for h in lite}]
    if args.json:
        from tfport.check.compiled.jit_history import jit_history
        from tfport.cli.output import print_json
        from tfport.reports.ops import ops_json

        document = ops_json(atlas, args.names)
        for op, described in zip(known, document["ops"], strict=True):
            described["compiled_by_xla"] = [on_device.to_json() for on_device in jit_history(op)]
        print_json(document)
    elif known or lite:
        from tfport.reports.console import show
        from tfport.reports.ops import lite_op_page, op_page

        show(
            lambda width: chain(
                *(op_page(history, width) for history in known),
                *(lite_op_page(history, width) for history in lite),
            )
        )
    return report_unknown(atlas, unknown)


def similar_names(atlas: Atlas, unknown: list[str]) -> dict[str, list[str]]:
    from tfport.atlas.op_search import suggestions

    return {name: suggestions(atlas, name) for name in unknown}


def report_unknown(atlas: Atlas, unknown: list[str]) -> int:
    """Print a line for each unknown op, and return the exit code."""
    from tfport.words import printable

    for name, similar in similar_names(atlas, unknown).items():
        hint = f"; {did_you_mean(similar)}" if similar else ""
        sentence = printable(f"{name}: no recorded build registers this op{hint}")
        print(f"tfport: {sentence}", file=sys.stderr)
    return UNDECIDED if unknown else 0


def on_target(atlas: Atlas, args: argparse.Namespace) -> int:
    from tfport.atlas.lite.releases import lite_op_numbers
    from tfport.cli.target_argument import parse_target

    target = parse_target(args.on)
    if target.kind == "lite" or any(name in lite_op_numbers() for name in args.names):
        return on_interpreter(target, args)
    registry = target.registry
    missing = [name for name in args.names if name not in registry]
    registered = [name for name in args.names if name in registry]
    if args.json:
        from tfport.cli.output import print_json

        ops = [on_target_json(registry, name) for name in registered]
        print_json({"version": VERSION, "target": target.requirement, "ops": ops, "missing": missing})
    elif registered:
        from tfport.reports.console import show
        from tfport.reports.ops import registered_op

        show(lambda width: (part for name in registered for part in registered_op(target, name, width)))
    for name in missing:
        print(f"tfport: {target.name} does not register {name}{elsewhere(atlas, name)}", file=sys.stderr)
    return NO if missing else 0


def on_interpreter(target: Target, args: argparse.Namespace) -> int:
    """The versions of builtin ops that the interpreter of a target registers."""
    from tfport.errors import Error

    registry = target.lite
    if registry is None:
        raise Error(f"{target.name} has no recorded TensorFlow Lite interpreter")
    versions = {name: registry.versions(name) for name in args.names if name in registry.ops}
    missing = [name for name in args.names if name not in registry.ops]
    if args.json:
        from tfport.cli.output import print_json

        ops = [{"name": name, "versions": sorted(known or ())} for name, known in versions.items()]
        print_json({"version": VERSION, "target": target.requirement, "ops": ops, "missing": missing})
    else:
        for name, known in versions.items():
            listed = ", ".join(map(str, sorted(known))) if known is not None else "unknown"
            print(f"{name}: versions {listed} in {registry.name}")
    for name in missing:
        print(f"tfport: {registry.name} does not register {name}", file=sys.stderr)
    return NO if missing else 0


def on_target_json(registry: OpRegistry, name: str) -> dict[str, Any]:
    from tfport.reports.ops import definition_json, kernel_json

    provider = registry.provider(name)
    return {
        "name": name,
        "provider": provider.name if provider else None,
        "definition": definition_json(registry[name]),
        "kernels": [kernel_json(kernel) for kernel in registry.kernels(name)],
    }


def elsewhere(atlas: Atlas, name: str) -> str:
    """Name the releases and packages that register an op."""
    from tfport.atlas.op_search import suggestions, summaries
    from tfport.atlas.release_spans import spans_text

    (summary,) = summaries(atlas, [name])
    places = [f"tensorflow {spans_text(summary.releases)}"] if summary.releases else []
    places += summary.providers
    if places:
        return f"; it is in {', '.join(places)}"
    similar = suggestions(atlas, name)
    return f", nor does any recorded build{f'; {did_you_mean(similar)}' if similar else ''}"


def did_you_mean(similar: list[str]) -> str:
    *others, last = similar
    return f"did you mean {', '.join(others)} or {last}?" if others else f"did you mean {last}?"


def tfport_ops(args: argparse.Namespace) -> int:
    """The ops of tfport's own runtime, how each runs, and the source of custom ops."""
    from tfport.frontends.lite.definitions import lite_definitions
    from tfport.runtime.custom.registry import PROCESS_WIDE
    from tfport.runtime.own_target import own_target, ways_to_run

    known = own_target().registry
    names = args.names or [name for name in known if name not in lite_definitions()]
    ways = {name: tuple(ways_to_run(name, PROCESS_WIDE)) for name in names if name in known}
    providers = {name: PROCESS_WIDE.provider_of(name) for name in ways}
    missing = [name for name in names if name not in known]
    if args.json:
        from tfport.cli.output import print_json

        ops = [{"name": name, "runs": list(how), "provider": providers[name]} for name, how in ways.items()]
        print_json({"version": VERSION, "target": "tfport", "ops": ops, "missing": missing})
    elif ways:
        from tfport.reports.console import show
        from tfport.reports.own_ops import own_ops_text

        show(lambda width: own_ops_text(ways, providers, width))
    for name in missing:
        print(f"tfport: {name} has no kernel in tfport", file=sys.stderr)
    return NO if missing else 0


def model_coverage(args: argparse.Namespace) -> int:
    """Which ops of models tfport lacks; 2 if a model cannot be read."""
    import tempfile
    from pathlib import Path

    from tfport.audit.audit import audit_store, usual_workers
    from tfport.audit.coverage import coverage_of
    from tfport.audit.database import AuditDatabase
    from tfport.audit.examine import AuditQuestions
    from tfport.audit.workers import WorkerLimits
    from tfport.cli.audit import MEMORY, SECONDS, memory_size, shown_progress
    from tfport.cli.output import print_result

    with tempfile.TemporaryDirectory(prefix="tfport-coverage-") as folder, shown_progress() as progress:
        database = AuditDatabase(str(Path(folder, "coverage.sqlite")))
        try:
            limits = WorkerLimits(usual_workers(args.coverage), SECONDS, memory_size(MEMORY))
            audit_store(args.coverage, AuditQuestions(("tfport",), scan=False), database, limits, progress)
            coverage = coverage_of(database)
        finally:
            database.close()
    print_result(coverage, args, everything=args.all)
    return UNDECIDED if coverage.unreadable else NO if coverage.running < len(coverage.models) else 0


def coverage_of_package(args: argparse.Namespace) -> int:
    from tfport.audit.coverage import package_coverage
    from tfport.cli.output import print_result

    coverage = package_coverage(args.package)
    print_result(coverage, args)
    return NO if coverage.lacks else 0
