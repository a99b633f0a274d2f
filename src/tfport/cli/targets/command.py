"""`tfport targets`: what is recorded, one target in full, and what differs between two."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfport.atlas.target import Target
    from tfport.runtime.custom.registry import Registry

VERSION = 1
TARGET = "a target, such as tensorflow==2.8.4"


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "targets",
        help="what is recorded of TensorFlow's releases: builds, ops, kernels",
        description="Say which builds of TensorFlow and of packages with ops are recorded, and how they "
        "were built.",
    )
    parser.add_argument("--all", action="store_true", help="every patch release, not the newest of each")
    parser.add_argument("--json", action="store_true", help="print JSON (version 1)")
    parser.set_defaults(run=overview)
    within = parser.add_subparsers(title="more", metavar="COMMAND", dest="of_targets")
    add_show(within)
    add_diff(within)
    add_record(within)
    add_header(within)


def add_show(commands: Any) -> None:
    parser = commands.add_parser("show", help="one target in full")
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON (version 1)"
    )
    parser.set_defaults(run=show_target)


def add_diff(commands: Any) -> None:
    parser = commands.add_parser("diff", help="ops and kernels that came, went and changed")
    parser.add_argument("before", metavar="A", help=TARGET)
    parser.add_argument("after", metavar="B", help="another one")
    parser.add_argument(
        "--all", action="store_true", default=argparse.SUPPRESS, help="every row of long lists"
    )
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON (version 1)"
    )
    parser.set_defaults(run=diff)


def add_record(commands: Any) -> None:
    parser = commands.add_parser(
        "record",
        help="record a build of your own as a target",
        description="Ask a build of TensorFlow what it registers. This loads its library, in a process of "
        "its own: do it with what you trust.",
    )
    parser.add_argument(
        "path", metavar="PATH", help="a wheel, a site-packages folder, or a libtensorflow*.so"
    )
    parser.add_argument("-o", dest="out", metavar="FILE", required=True, help="where the target goes")
    parser.set_defaults(run=record)


def add_header(commands: Any) -> None:
    parser = commands.add_parser(
        "header",
        help="an ops_to_register.h with what some models need",
        description="Write the header with which TensorFlow is built to register only what models need.",
    )
    parser.add_argument("models", metavar="MODEL", nargs="+", help="a model that the build must run")
    parser.add_argument("--for", dest="target", metavar="TARGET", required=True, help=TARGET)
    parser.add_argument("-o", dest="out", metavar="FILE", help="where the header goes, if not to the screen")
    parser.set_defaults(run=header)


def overview(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.overview import overview as look

    found = look(atlas())
    if args.json:
        from tfport.cli.json_output import print_json

        print_json(found.to_json())
    else:
        from tfport.check.console import show
        from tfport.cli.targets.view import recorded

        show(lambda width: recorded(found, width, everything=args.all))
    return 0


def targets(text: str, *, device: str | None = None, gpu: str | None = None) -> list[Target]:
    """The targets that a text names; the one place that reads such a text."""
    from tfport.atlas.target import resolve_targets

    return resolve_targets(text, device=device, gpu=gpu, own=own)


def own(registry: Registry | None = None) -> Target:
    """What `tfport` names; its kernels are loaded only then."""
    from tfport.runtime.own_target import own_target

    return own_target(registry)


def only_target(text: str, *, device: str | None = None, gpu: str | None = None) -> Target:
    """The target that a text names, where one is wanted."""
    from tfport.errors import Error

    found = targets(text, device=device, gpu=gpu)
    if len(found) != 1:
        raise Error(f"{text}: {len(found)} targets, {found[0].name} to {found[-1].name}; expected one")
    return found[0]


def show_target(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.portrait import portrait

    found = [portrait(target, atlas()) for target in targets(args.target)]
    if args.json:
        from tfport.cli.json_output import print_json

        print_json({"version": VERSION, "targets": [target.to_json() for target in found]})
    else:
        from tfport.check.console import show
        from tfport.cli.targets.view import in_full

        show(lambda width: (part for target in found for part in in_full(target, width)))
    return 0


def diff(args: argparse.Namespace) -> int:
    from tfport.atlas.atlas import atlas
    from tfport.atlas.diff import diff_registries

    before, after = only_target(args.before), only_target(args.after)
    found = diff_registries(before.registry, after.registry, atlas())
    if args.json:
        from tfport.atlas.diff_json import diff_json
        from tfport.cli.json_output import print_json

        print_json(diff_json(found))
    else:
        from tfport.check.console import show
        from tfport.cli.targets.diff_view import differences

        show(lambda width: differences(found, width, everything=args.all))
    return 0


def record(args: argparse.Namespace) -> int:
    from tfport.atlas.record import record_target
    from tfport.cli.progress import show_progress

    with show_progress(f"recording {args.path}"):
        build = record_target(args.path, args.out, say=lambda text: print(text, file=sys.stderr))
    print(f"{args.out}: {build.name}")
    return 0


def header(args: argparse.Namespace) -> int:
    import tfport
    from tfport.atlas.selective import write_header
    from tfport.formats.output import new_path

    registry = only_target(args.target).registry
    text = write_header([tfport.load(model) for model in args.models], registry)
    if args.out:
        with new_path(args.out) as path:
            path.write_text(text)
    else:
        print(text, end="")
    return 0
