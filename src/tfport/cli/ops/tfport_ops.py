"""`tfport ops --tfport`: the ops of tfport's own runtime, how each runs, and the source of custom ops."""

from __future__ import annotations

import argparse
import sys

from tfport.runtime.custom.registry import PROCESS_WIDE
from tfport.runtime.own_target import own_target, ways_to_run

VERSION = 1
NO = 1


def list_tfport_ops(args: argparse.Namespace) -> int:
    known = own_target().registry
    names = args.names or list(known)
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
