"""The `tfport` command: options, exit codes, and one sentence for every error.

0: done. 1: the answer is no (`check`). 2: tfport could not read or could not tell.
Each command is a module that adds its options and runs; heavy imports wait until then.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from tfport.check.printable import printable
from tfport.cli import bench as bench_command
from tfport.cli import completion as completion_command
from tfport.cli import env as env_command
from tfport.cli import explain as explain_command
from tfport.cli import export as export_command
from tfport.cli import fix as fix_command
from tfport.cli import inspect as inspect_command
from tfport.cli import matrix as matrix_command
from tfport.cli import serve as serve_command
from tfport.cli.check import command as check_command
from tfport.cli.lib import command as lib_command
from tfport.cli.lib import subcommands as lib_words
from tfport.cli.ops import command as ops_command
from tfport.cli.run import command as run_command
from tfport.cli.targets import command as targets_command
from tfport.errors import Error

COMMANDS = (
    inspect_command,
    check_command,
    matrix_command,
    fix_command,
    run_command,
    export_command,
    bench_command,
    serve_command,
    lib_command,
    env_command,
    ops_command,
    explain_command,
    targets_command,
    completion_command,
)
CANNOT_TELL = 2
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="tfport", description="Take any TensorFlow model to any runtime, without TensorFlow."
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version of tfport")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tfport {version('tfport')}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names may have letters that this terminal has not
            stream.reconfigure(errors="backslashreplace")
    gc.disable()  # a command is over before cycles matter, and looking for them costs a third of its time
    try:
        args = parser().parse_args(lib_words.joined(sys.argv[1:] if argv is None else argv))
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            code: int = args.run(args)
        sys.stdout.flush()
    except Error as error:
        print(f"tfport: {printable(str(error))}", file=sys.stderr)
        return CANNOT_TELL
    except KeyboardInterrupt:
        print("tfport: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT_TELL
    finally:
        gc.enable()
    return code


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning is a sentence, too, and no place in our code."""
    print(f"tfport: {printable(str(message))}", file=sys.stderr)
