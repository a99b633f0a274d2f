"""`tfport completion SHELL`: the completion script for a shell."""

from __future__ import annotations

import argparse
from typing import Any

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="print the completion script for a shell",
        description='Print a completion script. For bash: eval "$(tfport completion bash)"',
    )
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import shtab

    from tfport.cli.main import parser

    print(shtab.complete(parser(), args.shell))
    return 0
