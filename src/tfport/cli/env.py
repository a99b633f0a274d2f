"""`tfport env BUILD RUNTIME`: two environments side by side, and what differs that matters."""

from __future__ import annotations

import argparse
from typing import Any

from tfport.cli.choices import DEVICES, LOADERS

ENVIRONMENT = (
    "what pip freeze or pip list print, requirements, a lock file, a conda list, a site-packages folder, "
    "the root of an unpacked image, . (this environment), or packages such as tensorflow==2.8.4"
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "env",
        help="two environments side by side: what differs that matters to models and op libraries",
        description="Say what differs between two environments that a model or an op library would notice, "
        "what that breaks, and how sure it is. Exit code 0: nothing that matters; 1: something breaks or may "
        "break; 2: tfport could not read.",
    )
    parser.add_argument("build", metavar="BUILD", help=f"where it works: {ENVIRONMENT}")
    parser.add_argument("runtime", metavar="RUNTIME", help="where it must work, written in the same ways")
    parser.add_argument("--model", metavar="MODEL", help="only what this model needs")
    parser.add_argument("--device", choices=DEVICES, help="the hardware that is there")
    parser.add_argument(
        "--loader", action="append", choices=LOADERS, help="who loads the model, if not who usually does"
    )
    parser.add_argument("--all", action="store_true", help="show long lists whole")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import tfport
    from tfport.check.env.compare import compare
    from tfport.cli.progress import show_progress

    with show_progress(f"comparing {args.build} and {args.runtime}"):
        model = tfport.load(args.model) if args.model else None
        found = compare(args.build, args.runtime, model=model, device=args.device, loader=args.loader)
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(found.to_json())
    else:
        from tfport.check.console import show
        from tfport.check.env.text import render

        show(lambda width: render(found, width, everything=args.all))
    return found.exit_code
