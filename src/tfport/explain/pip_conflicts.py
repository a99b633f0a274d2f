"""Read which requirements contradict each other in a report of pip."""

from __future__ import annotations

import re

from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch

LIMITS = r"(?:[<>=!~]=?[\w.*]+(?:(?: and |, ?)[<>=!~]=?[\w.*]+)*)"
DEPENDS = re.compile(rf"([\w.-]+(?:\[[\w,-]+\])?) (\d[\w.]*) depends on ([\w.-]+)(?:\[[\w,-]+\])?({LIMITS})")
REQUESTED = re.compile(rf"The user requested ([\w.-]+)(?:\[[\w,-]+\])?({LIMITS})")
MOST = 8
CONFLICT = [
    "install the packages in one command and a new environment, so that pip can choose versions that fit",
    "`pip check` then lists requirements that are not met",
]


def conflict(match: MessageMatch, target: Target | None) -> Meaning:
    """Which package requires what, if the message says so."""
    names = match.names
    if "other" not in names:
        return _resolution(match.before + match.text)
    have = f"{names['have']} is installed" if "have" in names else "it is not installed"
    return Meaning(
        [f"{names['package']} {names['version']} needs {names['other']}{names['wanted']}, and {have}."],
        [
            f"pip install '{names['other']}{names['wanted']}', or another version of {names['package']}",
            *CONFLICT,
        ],
    )


def _resolution(report: str) -> Meaning:
    """The requirements in the list below `The conflict is caused by`."""
    requests = list(dict.fromkeys(REQUESTED.findall(report)))
    needs = list(dict.fromkeys(DEPENDS.findall(report)))
    facts = [f"{package} {version} needs {other}{limits}." for package, version, other, limits in needs]
    facts += [f"You ask for {package}{limits}." for package, limits in requests]
    shared = {other for _, _, other, _ in needs} & {package for package, _ in requests}
    ways = [
        f"remove the version of {package} from your requirements, so that pip can choose one that all accept"
        for package in sorted(shared)
    ]
    if needs and not shared:
        ways = ["change the version of one of these packages, and leave the others to pip"]
    return Meaning(facts[:MOST], [*ways, *CONFLICT])
