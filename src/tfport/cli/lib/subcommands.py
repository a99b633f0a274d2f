"""`tfport lib new`, `lib build` and `lib show`: commands of two words beside `tfport lib FILE…`.

A file that is called like one of the words is given as `./new`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

LIB = "lib"
WORDS = ("new", "build", "show")


def joined(argv: Sequence[str]) -> list[str]:
    """The arguments with the two words of a command as one."""
    if len(argv) > 1 and argv[0] == LIB and argv[1] in WORDS:
        return [f"{LIB}-{argv[1]}", *argv[2:]]
    return list(argv)


def add(commands: Any) -> None:
    _add_new(_parser(commands, "new", "Begin a project with an op in C++ for tfport."))
    _add_build(_parser(commands, "build", "Compile ops in C++, for tfport or for a release of TensorFlow."))
    _add_show(_parser(commands, "show", "List what libraries of ops register, without loading them."))


def _parser(commands: Any, word: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        f"{LIB}-{word}", prog=f"tfport {LIB} {word}", description=description
    )
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    return parser


def _add_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="such as my_op")
    parser.add_argument(
        "--folder", metavar="FOLDER", help="where to write it; a folder of its name by default"
    )
    parser.set_defaults(run=_new)


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="*", help="C++ files; those of this folder by default"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the library; libNAME.so by default")
    parser.add_argument(
        "--flag", metavar="FLAG", action="append", default=[], help="one more for the compiler: --flag=-O3"
    )
    parser.add_argument(
        "--checked", action="store_true", help="elements of tensors are only reached in bounds"
    )
    parser.add_argument(
        "--print-flags", action="store_true", help="print the flags for the compiler, and no more"
    )
    parser.add_argument(
        "--for", metavar="TARGET", dest="target", help="a release of TensorFlow, such as tensorflow==2.21.0"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--site-packages", metavar="FOLDER", help="where that TensorFlow is installed")
    place.add_argument("--wheel", metavar="FILE", help="a wheel of that TensorFlow")
    place.add_argument("--download", action="store_true", help="let pip fetch that wheel for the build")
    parser.set_defaults(run=_build)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a library for tfport or for TensorFlow")
    parser.set_defaults(run=_show)


def _new(args: argparse.Namespace) -> int:
    from tfport.cli.lib.new import run

    return run(args)


def _build(args: argparse.Namespace) -> int:
    from tfport.cli.lib.build import run

    return run(args)


def _show(args: argparse.Namespace) -> int:
    from tfport.cli.lib.show import run

    return run(args)
