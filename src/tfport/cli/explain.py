"""`tfport explain TEXT|CODE|FILE|-`: explain an error message, a log, or a tfport code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from tfport.cli.arguments import add_json
from tfport.cli.commands import command

if TYPE_CHECKING:
    from tfport.explain.explain import Explained

STANDARD_INPUT = "-"
LOGS = (".log", ".txt", ".out", ".err")


@command(
    "explain",
    order=13,
    help="explain a TensorFlow error message, a log, or a tfport code",
    description="Explain error messages from TensorFlow, Keras, CUDA and the dynamic linker: what the "
    "recorded builds say about the ops, kernels, libraries and releases in the message. For "
    "a code such as TFP101, print its documentation.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="*",
        help="an error message, a code such as TFP101, a log file, or - for standard input",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help="also show which of this model's nodes the message concerns"
    )
    parser.add_argument(
        "--on", metavar="TARGET", help="explain the message for this target, such as tensorflow==2.8.4"
    )
    parser.add_argument("--list", action="store_true", help="list all codes with their titles")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.errors import Error
    from tfport.explain.messages import is_code

    if args.list:
        return list_codes(args)
    if not args.text:
        raise Error("expected a message, a code, a file, or - for standard input")
    text = " ".join(args.text)
    return show_codes(args) if all(map(is_code, args.text)) else explain(text, args)


def explain(text: str, args: argparse.Namespace) -> int:
    from tfport.cli.output import print_result

    explained = explained_text(text, args)
    print_result(explained, args)
    return explained.exit_code


def explained_text(text: str, args: argparse.Namespace) -> Explained:
    import tfport
    from tfport.cli.progress import show_progress
    from tfport.cli.target_argument import parse_target
    from tfport.explain.explain import explain_log
    from tfport.explain.log import lines_of

    target = parse_target(args.on) if args.on else None
    with open_text(text) as stream, show_progress("reading"):
        model = tfport.load(args.model) if args.model else None
        return explain_log(lines_of(stream), target=target, model=model)


@contextmanager
def open_text(text: str) -> Iterator[IO[str]]:
    """Open standard input, the file of that name, or the text itself."""
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
    from tfport.cli.output import print_document
    from tfport.explain.code import code_page
    from tfport.reports.explained import codes_json, page

    codes = [code_page(text) for text in args.text]
    print_document(
        args, lambda: codes_json(codes), lambda width: (part for code in codes for part in page(code, width))
    )
    return 0


def list_codes(args: argparse.Namespace) -> int:
    from tfport.cli.output import print_document
    from tfport.explain.code import all_codes
    from tfport.reports.explained import code_list, codes_json

    codes = all_codes()
    print_document(args, lambda: codes_json(codes), lambda width: code_list(codes, width))
    return 0
