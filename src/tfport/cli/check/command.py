"""`tfport check MODEL… --on TARGET…`: will it load and run there, and every reason why not."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.choices import DEVICES, FAIL_ON, FORMS, LOADERS


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="whether a model loads and runs on a TensorFlow, and every reason why not",
        description="Say whether models load and run on targets, and every reason why not. Without MODEL, "
        "what tfport.toml (or [tool.tfport] in pyproject.toml) declares. Exit code 0: all run; 1: one does "
        "not; 2: tfport could not tell, or could not read.",
    )
    parser.add_argument(
        "models", metavar="MODEL", nargs="*", help="a model as for inspect, or a folder with many"
    )
    parser.add_argument(
        "--on",
        metavar="TARGET",
        nargs="+",
        action="extend",
        help="what must run it: tensorflow==2.8.4, 'tensorflow>=2.4,<2.9', tensorflow-serving==2.8, "
        "requirements.txt, . (this environment), ops_to_register.h@tensorflow==1.4.1",
    )
    _add_how(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", choices=DEVICES, help="the hardware that is there")
    parser.add_argument("--gpu", metavar="GPU", help="which GPU that is: h100, t4, or a compute capability")
    parser.add_argument(
        "--loader", action="append", choices=LOADERS, help="who loads it, if not who usually does"
    )
    parser.add_argument(
        "--signature", action="append", metavar="NAME", help="what must run; all signatures by default"
    )
    parser.add_argument(
        "--soft-placement",
        action=argparse.BooleanOptionalAction,
        help="a node may run elsewhere than on the device it asks for",
    )
    parser.add_argument("--tags", metavar="TAG[,TAG]", help="the MetaGraph to check, where there are several")
    parser.add_argument(
        "--library",
        action="append",
        metavar="FILE",
        help="custom-op library whose ops count as registered on the target; it is read, never loaded",
    )
    parser.add_argument(
        "--checksums", action="store_true", help="read the weights too, to see that they are whole"
    )
    parser.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="what makes the exit code 1: a model that fails (error, the default), also one that nobody "
        "can tell of (unknown), also any warning, also any note; or nothing (never)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=FORMS, default="text", help="how to answer; text by default")
    form.add_argument(
        "--json", dest="format", action="store_const", const="json", help="print JSON (version 1)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where the answer goes, if not to the screen")
    parser.add_argument("--all", action="store_true", help="show long texts and lists whole")


def run(args: argparse.Namespace) -> int:
    from tfport.cli.check.run import check_declared, check_given

    return check_given(args) if args.models else check_declared(args)
