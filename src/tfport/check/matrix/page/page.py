"""Render the matrix as one self-contained page: releases as columns, findings as rows, each bar explained.

Everything is in the HTML and can be read without the script, which only switches tables and
shows the card of a bar. Names come from untrusted files: each is escaped, and no other script
may run.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Template

from tfport.check.check import UNKNOWN
from tfport.check.findings.finding import RUN
from tfport.check.matrix.matrix import CellRange, FindingKey, Matrix, MatrixCell, Strip
from tfport.check.matrix.page.cards import MEANS, Cards, kind, text
from tfport.check.matrix.settings import Setting, by_outline, label, running, settings_of
from tfport.formats.output import new_path

MOST = 120
"""The maximum number of rows of a table."""
LETTERS_PER_MINOR = 3
HERE = Path(__file__).parent


def write_page(matrix: Matrix, path: str | os.PathLike[str]) -> None:
    """Write the page to a path that does not exist yet."""
    with new_path(path) as temporary:
        temporary.write_text(page(matrix), encoding="utf-8")


def page(matrix: Matrix) -> str:
    script, cards = (HERE / "matrix.js").read_text(), Cards()
    every = settings_of(matrix.strips)
    of_packages = bool(matrix.keras or matrix.lite)  # a table for each; other models have one for each loader
    tables = [
        _strip(strip, settings, every, strip.package if of_packages else label(settings, every), cards)
        for settings, strip in by_outline(matrix.strips)
    ]
    return Template((HERE / "matrix.html").read_text()).substitute(
        title=text(f"{matrix.model}: where it runs"),
        digest="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        css=(HERE / "matrix.css").read_text(),
        model=text(matrix.model),
        origin=text(_origin(matrix)),
        answer="\n".join(_answer(matrix)),
        switches="\n".join(_switches(every)),
        tables="\n".join(tables),
        cards=cards.html(),
        script=script,
    )


def _origin(matrix: Matrix) -> str:
    by = f"saved by TensorFlow {matrix.tensorflow}, " if matrix.tensorflow not in ("", "unknown") else ""
    cells = matrix.strips[0].cells
    tried = f"checked on {len(cells)} releases, {cells[0].release} to {cells[-1].release}"
    return f"{by}GraphDef version {matrix.graph_def}; {tried}"


def _answer(matrix: Matrix) -> Iterator[str]:
    """The headline: where the model runs."""
    for when, where in running(matrix.strips):
        how = where or label(settings_of(matrix.strips), settings_of(matrix.strips))
        mark = ' class="nowhere"' if when == "nowhere" else ""
        yield f"<div{mark}><dt>runs, {text(how)}</dt><dd>{text(when)}</dd></div>"


def _switches(every: Sequence[Setting]) -> Iterator[str]:
    """The controls; signatures are a list, since there may be many with long names."""
    devices, loaders, signatures = (list(dict.fromkeys(values)) for values in zip(*every, strict=True))
    yield _radios("device", devices, [device.upper() for device in devices])
    yield _radios("loader", loaders, loaders)
    options = "".join(f'<option value="{i}">{text(name)}</option>' for i, name in enumerate(signatures))
    hidden = " hidden" if len(signatures) == 1 else ""
    yield f'<label{hidden}>signature <select name="signature">{options}</select></label>'


def _radios(name: str, values: Sequence[str], shown: Sequence[str]) -> str:
    inputs = [
        f'<label><input type="radio" name="{name}" value="{text(value)}"{" checked" if not i else ""}>'
        f"<span>{text(words)}</span></label>"
        for i, (value, words) in enumerate(zip(values, shown, strict=True))
    ]
    return f"<fieldset><legend>{name}</legend>{''.join(inputs)}</fieldset>"


def _strip(
    strip: Strip, settings: Sequence[Setting], every: Sequence[Setting], title: str, cards: Cards
) -> str:
    numbers = {name: i for i, name in enumerate(dict.fromkeys(setting.signature for setting in every))}
    shared = "|".join(
        f"{setting.device} {setting.loader} {numbers[setting.signature]}" for setting in settings
    )
    patches = Counter(cell.minor for cell in strip.cells)
    rows = "\n".join(_rows(strip, patches, cards))
    return (
        f'<section class="strip" data-settings="{text(shared)}">\n<h2>{text(title)}</h2>\n'
        f'<div class="scroll" tabindex="0"><table style="--minors:{len(patches)}">\n'
        f"{_columns(strip, patches)}\n{_head(strip, patches)}\n<tbody>\n{rows}\n</tbody></table></div>\n"
        "</section>"
    )


Patches = Counter[tuple[int, int]]


def _columns(strip: Strip, patches: Patches) -> str:
    """A column for each patch; the patches of a minor release share its width."""
    widths = (f'<col style="width:calc(var(--minor)/{patches[cell.minor]})">' for cell in strip.cells)
    return f'<colgroup><col class="label">{"".join(widths)}</colgroup>'


def _head(strip: Strip, patches: Patches) -> str:
    series = Counter(cell.minor[0] for cell in strip.cells)
    names: dict[tuple[int, int], list[str]] = {}
    for cell in strip.cells:
        names.setdefault(cell.minor, []).append(cell.release)
    upper = "".join(f'<th class="series" colspan="{n}">{major}.x</th>' for major, n in series.items())
    lower = "".join(
        f'<th scope="colgroup" colspan="{n}" title="{", ".join(names[minor])}">{minor[1]}</th>'
        for minor, n in patches.items()
    )
    return f"<thead><tr><td></td>{upper}</tr><tr><td></td>{lower}</tr></thead>"


def _rows(strip: Strip, patches: Patches, cards: Cards) -> Iterator[str]:
    """The row of verdicts, then a row for each finding."""
    bars = [
        _bar(
            cell_range,
            kind(cell_range.cells[0]),
            MEANS[kind(cell_range.cells[0])],
            cards.of_outcome(cell_range),
            patches,
        )
        for cell_range in strip.ranges(kind)
    ]
    yield _row("verdict", "", bars, ' class="verdict"')
    keys = list(dict.fromkeys(cause.key for cause, _ in strip.broken()))
    for key in keys[:MOST]:
        yield _row(key.subject, key.code, _bars(strip, key, patches, cards))
    if (left_out := len(keys) - MOST) > 0:
        yield _row(f"{left_out:,} more: tfport matrix --json", "…", [])


def _row(subject: str, code: str, bars: Iterable[str], mark: str = "") -> str:
    name = f"<small>{code}</small><code>{text(subject)}</code>" if code else text(subject)
    return f'<tr{mark}><th scope="row" title="{text(subject)}">{name}</th>{"".join(bars)}</tr>'


def _bars(strip: Strip, key: FindingKey, patches: Patches, cards: Cards) -> Iterator[str]:
    """The bars of a finding, and the gaps between them."""
    for cell_range in strip.ranges(lambda cell: _outcome(cell, key)):
        outcome = _outcome(cell_range.cells[0], key)
        if outcome is None:
            yield f'<td colspan="{len(cell_range.cells)}"></td>'
        else:
            yield _bar(
                cell_range, outcome, str(cell_range), cards.of_finding(key, outcome, cell_range), patches
            )


def _outcome(cell: MatrixCell, key: FindingKey) -> str | None:
    """The outcome of a finding on a release, as a key of `MEANS`; None if the release does not have it."""
    findings = [f for f in cell.findings if (f.code, f.op, f.attr) == key]
    if not findings:
        return None
    certain = any(f.decides and not f.doubt for f in findings)
    return min(f.stage or RUN for f in findings) if certain else UNKNOWN


def _bar(cell_range: CellRange, kind: str, words: str, card: str, patches: Patches) -> str:
    """A bar, with its text if there is space."""
    space = sum(1 / patches[cell.minor] for cell in cell_range.cells) * LETTERS_PER_MINOR
    thin = ' class="thin"' if len(words) > space else ""
    return (
        f'<td class="{kind}" colspan="{len(cell_range.cells)}">'
        f'<a href="{card}"{thin} aria-label="{cell_range}: {MEANS[kind]}">{text(words)}</a></td>'
    )
