"""The matrix as one page that needs nothing else: releases across, causes down, each bar explained.

Everything stands in the HTML, so that it can be read without the script, which only
chooses between tables and brings the words to a bar. Names come from strangers' files:
each is escaped, and no script but ours runs.
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
"""Rows of one table."""
LETTERS_PER_MINOR = 3
HERE = Path(__file__).parent


def write_page(matrix: Matrix, path: str | os.PathLike[str]) -> None:
    """Write the page where nothing is yet."""
    with new_path(path) as temporary:
        temporary.write_text(page(matrix), encoding="utf-8")


def page(matrix: Matrix) -> str:
    script, cards = (HERE / "matrix.js").read_text(), Cards()
    every = settings_of(matrix.strips)
    tables = [_strip(strip, settings, every, cards) for settings, strip in by_outline(matrix.strips)]
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
    tried = f"held against {len(cells)} releases, {cells[0].release} to {cells[-1].release}"
    return f"{by}GraphDef version {matrix.graph_def}; {tried}"


def _answer(matrix: Matrix) -> Iterator[str]:
    """Where it runs, in large letters."""
    for when, where in running(matrix.strips):
        how = where or label(settings_of(matrix.strips), settings_of(matrix.strips))
        mark = ' class="nowhere"' if when == "nowhere" else ""
        yield f"<div{mark}><dt>runs, {text(how)}</dt><dd>{text(when)}</dd></div>"


def _switches(every: Sequence[Setting]) -> Iterator[str]:
    """What can be chosen; signatures are many and have long names."""
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


def _strip(strip: Strip, settings: Sequence[Setting], every: Sequence[Setting], cards: Cards) -> str:
    numbers = {name: i for i, name in enumerate(dict.fromkeys(setting.signature for setting in every))}
    shared = "|".join(
        f"{setting.device} {setting.loader} {numbers[setting.signature]}" for setting in settings
    )
    patches = Counter(cell.minor for cell in strip.cells)
    rows = "\n".join(_rows(strip, patches, cards))
    return (
        f'<section class="strip" data-settings="{text(shared)}">\n<h2>{text(label(settings, every))}</h2>\n'
        f'<div class="scroll" tabindex="0"><table style="--minors:{len(patches)}">\n'
        f"{_columns(strip, patches)}\n{_head(strip, patches)}\n<tbody>\n{rows}\n</tbody></table></div>\n"
        "</section>"
    )


Patches = Counter[tuple[int, int]]


def _columns(strip: Strip, patches: Patches) -> str:
    """A column for each patch; those of a minor release share its width."""
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
    """What happens in the end, then each thing that goes wrong."""
    bars = [
        _bar(
            stretch, kind(stretch.cells[0]), MEANS[kind(stretch.cells[0])], cards.of_outcome(stretch), patches
        )
        for stretch in strip.stretches(kind)
    ]
    yield _row("verdict", "", bars, ' class="verdict"')
    things = list(dict.fromkeys(cause.thing for cause, _ in strip.broken()))
    for thing in things[:MOST]:
        yield _row(thing.about, thing.code, _bars(strip, thing, patches, cards))
    if (left_out := len(things) - MOST) > 0:
        yield _row(f"{left_out:,} more: tfport matrix --json", "…", [])


def _row(about: str, code: str, bars: Iterable[str], mark: str = "") -> str:
    name = f"<small>{code}</small><code>{text(about)}</code>" if code else text(about)
    return f'<tr{mark}><th scope="row" title="{text(about)}">{name}</th>{"".join(bars)}</tr>'


def _bars(strip: Strip, thing: FindingKey, patches: Patches, cards: Cards) -> Iterator[str]:
    """The releases that a thing breaks, and the gaps between them."""
    for stretch in strip.stretches(lambda cell: _does(cell, thing)):
        does = _does(stretch.cells[0], thing)
        if does is None:
            yield f'<td colspan="{len(stretch.cells)}"></td>'
        else:
            yield _bar(stretch, does, str(stretch), cards.of_thing(thing, does, stretch), patches)


def _does(cell: MatrixCell, thing: FindingKey) -> str | None:
    """What a thing does to a release, as a key of `MEANS`; None where it does nothing."""
    found = [f for f in cell.findings if (f.code, f.op, f.attr) == thing]
    if not found:
        return None
    certain = any(f.decides and not f.doubt for f in found)
    return min(f.stage or RUN for f in found) if certain else UNKNOWN


def _bar(stretch: CellRange, kind: str, words: str, card: str, patches: Patches) -> str:
    """A bar with as many words as it has room for."""
    room = sum(1 / patches[cell.minor] for cell in stretch.cells) * LETTERS_PER_MINOR
    thin = ' class="thin"' if len(words) > room else ""
    return (
        f'<td class="{kind}" colspan="{len(stretch.cells)}">'
        f'<a href="{card}"{thin} aria-label="{stretch}: {MEANS[kind]}">{text(words)}</a></td>'
    )
