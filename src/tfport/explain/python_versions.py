"""Look up since when Python does not have a name of its standard library, and until when."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

MODULES = ("inspect", "collections", "asyncio", "pkgutil", "fractions", "time", "typing")
REMOVED = {
    "3.10": (
        "collections.Mapping collections.MutableMapping collections.Iterable collections.Iterator "
        "collections.Sequence collections.MutableSequence collections.Set collections.MutableSet "
        "collections.Callable collections.Hashable collections.Sized collections.Container"
    ),
    "3.11": "inspect.getargspec inspect.formatargspec asyncio.coroutine",
    "3.12": "pkgutil.ImpImporter pkgutil.ImpLoader distutils imp asyncore asynchat smtpd",
    "3.9": "fractions.gcd",
    "3.8": "time.clock",
    "3.13": "cgi crypt imghdr telnetlib",
}
"""What each version of Python removed."""
ADDED = {
    "3.8": "typing.Literal typing.Final typing.Protocol typing.TypedDict",
    "3.10": "typing.ParamSpec typing.TypeAlias typing.TypeGuard typing.Concatenate",
    "3.11": "typing.Self typing.Never typing.NotRequired typing.Required typing.Unpack typing.LiteralString",
    "3.12": "typing.override typing.TypeAliasType",
}
"""What each version of Python added."""


def removed_name(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which version of Python removed or added the name; None if it is no such name."""
    name = _full_name(match)
    for version, names in REMOVED.items():
        if name in names.split():
            return Meaning(
                [f"Python {version} removed {name}."],
                [
                    "upgrade the package in the last file of the traceback, or TensorFlow",
                    f"or a Python before {version}: `tfport targets show TARGET` lists those of a release",
                    *(["or pip install setuptools, which contains distutils"] if name == "distutils" else []),
                ],
            )
    for version, names in ADDED.items():
        if name in names.split():
            return Meaning(
                [f"Python has {name} since {version}."],
                [f"use Python {version} or later, or an older version of the package in the traceback"],
            )
    return None


def _full_name(match: MessageMatch) -> str:
    if "module" in match.names:
        return match.names["module"].partition(".")[0]
    module = next(module for module in MODULES if module in match.quote)
    return f"{module}.{match.names['name']}"
