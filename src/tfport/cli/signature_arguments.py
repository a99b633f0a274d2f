"""The options of `fix` and `export` that change signatures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfport.errors import Error

if TYPE_CHECKING:
    from tfport.fix.options import SignatureChanges

ANY = ("none", "any", "?", "-1")


def add_signature_changes(parser: argparse.ArgumentParser) -> None:
    for option, metavar, help in (
        ("--rename-input", "OLD=NEW", "rename an input of the signatures; can be repeated"),
        ("--rename-output", "OLD=NEW", "rename an output of the signatures; can be repeated"),
        ("--signature-name", "[OLD=]NEW", "rename a signature; can be repeated"),
        ("--head", "NAME=OUTPUT[,OUTPUT]", "add a signature with only these outputs; can be repeated"),
        ("--input-shape", "INPUT=SIZE[,SIZE]", "shape of an input, `none` for any size; can be repeated"),
    ):
        parser.add_argument(option, metavar=metavar, action="append", default=[], help=help)
    parser.add_argument(
        "--method", metavar="NAME", help="method of the signatures: predict, classify, regress or a full name"
    )
    parser.add_argument(
        "--batch", metavar="N", help="number of examples that every input takes, `none` for any"
    )


def signature_changes(args: argparse.Namespace) -> SignatureChanges:
    """The changes that were asked for."""
    from tfport.fix.options import SignatureChanges

    shapes = _pairs("--input-shape", args.input_shape)
    return SignatureChanges(
        inputs=_pairs("--rename-input", args.rename_input),
        outputs=_pairs("--rename-output", args.rename_output),
        names=_pairs("--signature-name", [t if "=" in t else f"={t}" for t in args.signature_name]),
        heads={name: tuple(outputs.split(",")) for name, outputs in _pairs("--head", args.head).items()},
        method=args.method or "",
        shapes={name: _sizes("--input-shape", sizes) for name, sizes in shapes.items()},
        batch="" if args.batch is None else _size("--batch", args.batch),
    )


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        old, equals, new = text.rpartition("=")
        if not equals or not new:
            raise Error(f"{option} {text}: expected a name, `=` and what it becomes")
        if old in pairs:
            raise Error(f"{option}: {old or 'the signature'} is given twice, as {pairs[old]} and as {new}")
        pairs[old] = new
    return pairs


def _sizes(option: str, text: str) -> tuple[int | None, ...]:
    return (
        tuple(_size(option, size) for size in text.strip("()[], ").split(",")) if text.strip("()[] ") else ()
    )


def _size(option: str, text: str) -> int | None:
    text = text.strip().lower()
    if text in ANY:
        return None
    if not text.isascii() or not text.isdigit():
        raise Error(f"{option}: `{text}` is not a size; expected a number, or `none` for any")
    return int(text)
