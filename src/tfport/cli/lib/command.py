"""`tfport lib`: check, create, build and list custom-op libraries.

`tfport lib FILE…` is short for `tfport lib check FILE…`. A file that has the name of a subcommand
is written as `./new`.
"""

from __future__ import annotations

import argparse

from tfport.cli.commands import command
from tfport.cli.lib import build, check, new, show

SUBCOMMANDS = {"check": check, "new": new, "build": build, "show": show}


@command(
    "lib",
    order=9,
    subcommands=tuple(SUBCOMMANDS),
    help="check whether a custom-op library loads; build libraries",
    usage="tfport lib FILE… [--on TARGET…]\n       tfport lib {check,new,build,show} …",
    description="Check on which TensorFlow a custom-op library loads, or create, build and list libraries "
    "of ops. `tfport lib FILE…` is short for `tfport lib check FILE…`.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(
        title="subcommands", metavar="SUBCOMMAND", dest="subcommand", required=True, prog="tfport lib"
    )
    for name, module in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
        module.add_arguments(subparser)
