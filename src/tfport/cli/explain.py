"""`tfport explain TEXT|CODE|-|FILE`: an error message or a log, explained from what is recorded."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfport.check.explain.explain import Explained

STANDARD_INPUT = "-"
LOGS = (".log", ".txt", ".out", ".err")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="an error message or a log of TensorFlow, explained; the page of a code",
        description="Say what messages of TensorFlow, Keras, CUDA and the dynamic linker mean for the ops, "
        "kernels, libraries and releases that they name, as the recorded builds tell it.",
    )
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="a message, a code such as TFP101, a file with a log, or -"
    )
    parser.add_argument("--model", metavar="MODEL", help="show the nodes of a model that a message is about")
    parser.add_argument("--on", metavar="TARGET", help="what is true of a target, such as tensorflow==2.8.4")
    parser.add_argument("--list", action="store_true", help="all codes with their titles")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.check.explain.messages import is_code
    from tfport.errors import Error

    if args.list:
        return list_codes(args)
    if not args.text:
        raise Error("expected a message, a code, a file, or - for standard input")
    text = " ".join(args.text)
    return show_codes(args) if all(map(is_code, args.text)) else explain(text, args)


def explain(text: str, args: argparse.Namespace) -> int:
    explained = explained_text(text, args)
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(explained.to_json())
    else:
        from tfport.check.console import show
        from tfport.check.explain.text import render

        show(lambda width: render(explained, width))
    return explained.exit_code


def explained_text(text: str, args: argparse.Namespace) -> Explained:
    import tfport
    from tfport.check.explain.explain import explain_log
    from tfport.check.explain.log import lines_of
    from tfport.cli.progress import show_progress
    from tfport.cli.targets.command import only_target

    target = only_target(args.on) if args.on else None
    with opened(text) as stream, show_progress("reading"):
        model = tfport.load(args.model) if args.model else None
        return explain_log(lines_of(stream), target=target, model=model)


@contextmanager
def opened(text: str) -> Iterator[IO[str]]:
    """Standard input, a file of that name, or else the text itself."""
    import io

    from tfport.errors import UnreadableFile
    from tfport.formats.files import reason

    if text == STANDARD_INPUT:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        yield sys.stdin
    elif os.path.exists(text) or (text.endswith(LOGS) and " " not in text):
        try:
            with open(text, encoding="utf-8", errors="replace") as file:
                yield file
        except OSError as error:
            raise UnreadableFile(f"{text}: {reason(error)}") from None
    else:
        yield io.StringIO(text)


def show_codes(args: argparse.Namespace) -> int:
    from tfport.check.explain.code import code_page

    codes = [code_page(text) for text in args.text]
    if args.json:
        from tfport.check.explain.json import codes_json
        from tfport.cli.json_output import print_json

        print_json(codes_json(codes))
    else:
        from tfport.check.console import show
        from tfport.check.explain.text import page

        show(lambda width: (part for code in codes for part in page(code, width)))
    return 0


def list_codes(args: argparse.Namespace) -> int:
    from tfport.check.explain.code import all_codes

    codes = all_codes()
    if args.json:
        from tfport.check.explain.json import codes_json
        from tfport.cli.json_output import print_json

        print_json(codes_json(codes))
    else:
        from tfport.check.console import show
        from tfport.check.explain.text import code_list

        show(lambda width: code_list(codes, width))
    return 0
