"""`tfport completion SHELL`: print a completion script."""

from __future__ import annotations

import argparse

from tfport.cli.commands import command

SHELLS = ("bash", "zsh", "tcsh")


@command(
    "completion",
    order=15,
    help="print a shell completion script",
    description='Print a shell completion script. For bash: eval "$(tfport completion bash)"',
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="shell to print the script for")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import shtab

    from tfport.cli.main import parser

    print(shtab.complete(parser(), args.shell))
    return 0
