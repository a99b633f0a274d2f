"""`tfport ui [MODEL…]`: look at models in the browser."""

from __future__ import annotations

import argparse
import os

from tfport.cli.commands import command


@command(
    "ui",
    needs="ui",
    may_need=(("run, fix and profile on the page", "run"),),
    order=16,
    help="explore models in the browser: graph, verdicts, fix, profile",
    description="Start a server on this machine and open its page in the browser: the graph of a model, the "
    "releases that run it, what fails and where, the rewrite and its certificate, and where the time of a "
    "run goes. Nothing leaves the machine. Ctrl-C ends it.",
)
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", metavar="MODEL", nargs="*", help="models to open")
    parser.add_argument(
        "--allow",
        metavar="DIR",
        action="append",
        default=[],
        help="let the page open models in this folder too, in addition to the current one; can be repeated",
    )
    parser.add_argument("--port", type=int, metavar="P", default=0, help="port (default: a free one)")
    parser.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, this machine only); another one needs --token-file",
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="host name that browsers may use for the server, such as a proxy's; this machine's own "
        "names are accepted with any port; can be repeated",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help="file whose first line is the access token (default: a new token at each start)",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--max-upload", metavar="SIZE", default="4G", help="upload limit for dropped files (default: 4G)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from tfport.cli.aiohttp_server import import_server_only
    from tfport.errors import Error

    import_server_only()
    from tfport.formats.find import find_model
    from tfport.startup.dataclass import replace
    from tfport.web.options import UiOptions, is_loopback, size_of, token_of
    from tfport.web.run import run as serve

    if not 0 <= args.port < 1 << 16:
        raise Error(f"--port {args.port}: expected a number from 0 to 65535")
    if not is_loopback(args.host) and not args.token_file:
        raise Error(
            f"--host {args.host}: others could reach the server; add --token-file FILE with a token that "
            "they need"
        )
    for model in args.models:
        find_model(model)
    for folder in args.allow:
        if not os.path.isdir(folder):
            raise Error(f"--allow {folder}: there is no such folder")
    options = UiOptions(
        models=tuple(args.models),
        host=args.host,
        port=args.port,
        allow=(os.getcwd(), *args.allow),
        allow_hosts=tuple(args.allow_host),
        most_upload=size_of(args.max_upload),
    )
    if args.token_file:
        options = replace(options, token=token_of(args.token_file))
    return serve(options, open_browser=not args.no_browser)
