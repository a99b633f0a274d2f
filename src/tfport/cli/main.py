"""The entry point of `tfport`: parse arguments, run a command, print errors, return the exit code.

0: success. 1: the answer is no, as of `check`. 2: tfport could not decide or could not read a file.
Every error is one sentence on standard error, without a traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import io
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

from tfport.cli.commands import (
    COMMANDS,
    HELP,
    UNDECIDED,
    CommandParser,
    HelpFormatter,
    all_commands,
    did_you_mean,
)
from tfport.discovery import STALE
from tfport.errors import Error
from tfport.operating_system import is_windows
from tfport.startup.deferred_module import defer
from tfport.words import printable

_DEFERRED = (
    ("numpy._core._add_newdocs",),
    ("numpy._core._add_newdocs_scalars",),
    ("numpy._typing", "NDArray"),
    ("hashlib",),
    ("shutil",),
)
"""Modules that a command imports and does not use until it has answered: those that only document NumPy, or
its types, are a third of the time to import it."""
PACKAGES = (
    *("numpy", "protobuf", "ml-dtypes", "scipy"),
    *("onnxruntime", "onnxruntime-gpu", "openvino", "ai-edge-litert", "apache-tvm-ffi"),
    *("onnx", "h5py", "sentencepiece", "pyarrow", "grpcio", "aiohttp", "tensorflow", "keras"),
)
"""What `tfport --version --json` names; the engines are the second row."""
INTERRUPTED, MOST_INTERRUPTS = 130, 5
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
EPILOG = """Run `tfport COMMAND --help` for the arguments of a command.

examples:
  tfport inspect export/1
  tfport check export/1 --on tensorflow==2.8.4
  tfport fix export/1 --for tensorflow==1.15.5 -o fixed
  tfport run export/1 --input x='[[1, 2]]'
"""
STANDARD_ERROR = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        for _ in range(MOST_INTERRUPTS):
            try:
                return _interrupted(ignore_others=argv is None)
            except KeyboardInterrupt:
                continue
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    secure_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the terminal's encoding may lack some characters
            stream.reconfigure(errors="backslashreplace")
            if is_windows() and not stream.isatty():  # a file or a pipe, which programs read as UTF-8
                stream.reconfigure(encoding="utf-8")
    gc.disable()  # commands are short, and searching for garbage would take a third of their time
    if argv is None:
        for module, *imported in _DEFERRED:
            defer(module, *imported)
    try:
        arguments = sys.argv[1:] if argv is None else argv
        args = parse(arguments)
        args.command_line = shlex.join(["tfport", *arguments])
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            code: int = args.run(args)
        sys.stdout.flush()
    except Error as error:
        print(f"tfport: {printable(str(error))}", file=sys.stderr)
        return UNDECIDED
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has closed it
        _discard_output()
        return UNDECIDED
    except OSError as error:
        if error.errno not in NO_ROOM or error.filename is not None:
            raise
        _discard_output()
        print(f"tfport: standard output: {os.strerror(error.errno).lower()}", file=sys.stderr)
        return UNDECIDED
    finally:
        if argv is None:
            gc.freeze()  # the process ends, which would search once more
        gc.enable()
    return code


def _interrupted(*, ignore_others: bool) -> int:
    if ignore_others:  # only the line that reports it is left to do
        import signal  # here, as most commands are not interrupted

        signal.signal(signal.SIGINT, lambda *_: None)
    print("tfport: interrupted", file=sys.stderr)
    return INTERRUPTED


def _discard_output() -> None:
    """Let what is left in the buffer go nowhere, as it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; only the module of its command is imported."""
    name = arguments[0] if arguments else ""
    if "--version" in arguments and set(arguments) <= {"--version", "--json"}:
        return argparse.Namespace(run=show_version, json="--json" in arguments)
    if commands := COMMANDS.of(name):
        return commands[0].parse(arguments[1:])
    if name and not name.startswith("-") and COMMANDS.lacks(name):
        raise Error(f"the command {name} is not in the index; {STALE}")
    top = parser(complete=False)
    if name and not name.startswith("-"):
        top.error(f"there is no command `{name}`{did_you_mean(name, COMMANDS.names())}")
    return top.parse_args(arguments or HELP[-1:])


def parser(*, complete: bool = True) -> CommandParser:
    """All commands, each with its arguments if `complete`; otherwise just what `tfport --help` prints."""
    top = CommandParser(
        prog="tfport",
        description="Take any TensorFlow model to any runtime, without TensorFlow.",
        epilog=EPILOG,
        formatter_class=_HelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version of tfport")
    top.add_argument("--json", action="store_true", help="with --version: also those of what tfport uses")
    subparsers = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in all_commands():
        command.add_to(subparsers, complete=complete)
    return top


def show_version(args: argparse.Namespace) -> int:
    """Print the version of tfport; as JSON, also those of what computes answers."""
    from importlib.metadata import PackageNotFoundError, version

    if not args.json:
        print(f"tfport {version('tfport')}")
        return 0
    import platform

    from tfport.cli.output import print_json

    packages: dict[str, str | None] = dict.fromkeys(PACKAGES)
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    about = {"python": platform.python_version(), "system": sys.platform, "machine": platform.machine()}
    print_json({"version": 1, "tfport": version("tfport"), **about, "packages": packages})
    return 0


class _HelpFormatter(HelpFormatter):
    """Each command and its help on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=16)
        self._action_max_length = 14  # argparse measures commands without their indentation


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as a sentence, without a place in the source."""
    print(f"tfport: {printable(str(message))}", file=sys.stderr)


def secure_standard_streams() -> None:
    """Open standard streams that are closed, and ignore errors when writing to standard error.

    A server may be started with standard error on a full disk or without one; it should serve anyway.
    """
    for descriptor in range(STANDARD_ERROR + 1):
        try:
            os.fstat(descriptor)
        except OSError:  # otherwise the next file or socket would become a standard stream
            os.open(os.devnull, os.O_RDWR)  # the system takes the lowest free number
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  until the process ends
    if sys.stderr is None or (sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper)):
        encoding = sys.stderr.encoding if sys.stderr else "utf-8"
        raw: Any = _ForgivingFile(STANDARD_ERROR, "w", closefd=False)
        sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True)


class _ForgivingFile(io.FileIO):
    """A file whose write errors are ignored."""

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and (written := super().write(rest)):
                rest = rest[written:]
        except OSError:
            pass
        return size
