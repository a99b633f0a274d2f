"""The `tfport` command: options, exit codes, and one sentence for every error.

0: done. 1: the answer is no (`check`). 2: tfport could not read or could not tell.
Each command is a module that adds its options and runs; heavy imports wait until then.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tfport.cli import completion_command, inspect_command
from tfport.errors import Error

COMMANDS = (inspect_command, completion_command)
CANNOT_TELL = 2
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="tfport", description="Take any TensorFlow model to any runtime, without TensorFlow."
    )
    top.add_argument("--version", action="version", version=f"tfport {version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def version() -> str:
    from importlib.metadata import version as installed

    return installed("tfport")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except Error as error:
        print(f"tfport: {error}", file=sys.stderr)
        return CANNOT_TELL
    except KeyboardInterrupt:
        print("tfport: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT_TELL
    return code
