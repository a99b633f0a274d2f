"""The rows of the tables: every cause that evidence can name is named by some text with that evidence."""

import re

import pytest
from tests.explain.test_explain import FILLED

from tfport.explain.evidence import JOINT, KEYED, LIMITS, Circumstances, weigh
from tfport.explain.messages import GAP, messages

SHOWN_BY = {
    "path": 'File "/usr/lib/python3/site-packages/{}/acme.py", line 7, in f',
    "raised_in": 'File "/usr/lib/python3/site-packages/{}/acme.py", line 7, in f',
    "suffix": "acme/model{}",
    "names_path": "{}acme.so",
}
PLATFORM_TEXTS = {
    "windows": "C:\\me", "apple silicon": "Apple M1", "macos": "/opt/homebrew/", "jetson": "jetson",
    "android": "/data/app/", "wsl": "WSL2", "raspberry pi": "raspberry pi", "arm64 linux": "aarch64",
}  # fmt: skip
DECISIVE = [(message, cause) for message in messages() for cause in message.causes if cause.speaks_for]


def shown(condition):
    """A text in which a condition holds."""
    return " ".join(_shown_part(part) for part in condition.split(JOINT))


def _shown_part(part):
    if keyed := KEYED.fullmatch(part):
        kind, value = keyed.groups()
        if kind == "platform":
            return PLATFORM_TEXTS[value]
        if value == "own":
            return 'File "/home/me/acme.py", line 7, in f'
        return "" if value == "none" else SHOWN_BY[kind].format(value)
    if limits := LIMITS.fullmatch(part):
        sign, version = re.match(r"([<>=]+)([\d.]+)", limits[2]).groups()
        return f"{limits[1]} {version if '=' in sign else '1.0.1'}"
    return GAP.sub(lambda gap: FILLED.get(gap[2] or gap[1], "acme"), part).replace("…", " and so on ")


@pytest.mark.parametrize(("message", "cause"), DECISIVE, ids=lambda row: getattr(row, "name", None))
def test_a_cause_with_evidence_can_be_named(message, cause):
    wordings = [GAP.sub(lambda gap: FILLED[gap[2] or gap[1]], says.text) for says in message.says]
    names = {name: FILLED[kind or name] for says in message.says for name, kind in GAP.findall(says.text)}
    around = [
        Circumstances(f"{shown(condition)} {wording}", "", {**names, **_path_named_in(condition)})
        for condition in cause.speaks_for
        for wording in ("", *wordings)
    ]
    assert any(
        [weighed.means for weighed in weigh(message.causes, circumstances, names)]
        == [weighed.means for weighed in weigh([cause], circumstances, names)]
        for circumstances in around
    )


def _path_named_in(condition):
    """The path in a message in which a condition about it holds."""
    return {"path": shown(condition)} if condition.startswith("names_path:") else {}
