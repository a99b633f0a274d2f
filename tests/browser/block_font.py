"""A font in which every character is the same block, so that pages are laid out alike on every machine.

`python tests/browser/block_font.py` writes it again; that needs fontTools.
"""

from __future__ import annotations

from pathlib import Path

FONT = Path(__file__).parent / "blocks.ttf"
UNITS, ADVANCE, ASCENT, DESCENT = 1000, 560, 900, 250
BLOCK = (40, 0, 500, 560)
"""Left, bottom, right and top of the block."""


def write_font(path: Path) -> None:
    """Write the font: one glyph, to which a table of the format 13 leads from all characters."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib.tables._c_m_a_p import CmapSubtable

    pen = TTGlyphPen(None)
    left, bottom, right, top = BLOCK
    pen.moveTo((left, bottom))
    for point in ((left, top), (right, top), (right, bottom)):
        pen.lineTo(point)
    pen.closePath()
    builder = FontBuilder(UNITS, isTTF=True)
    builder.setupGlyphOrder([".notdef", "block", "space"])
    builder.setupCharacterMap({0x41: "block", 0x20: "space", 0xA0: "space"})
    block = pen.glyph()
    builder.setupGlyf({".notdef": block, "block": block, "space": TTGlyphPen(None).glyph()})
    builder.setupHorizontalMetrics(
        {".notdef": (ADVANCE, left), "block": (ADVANCE, left), "space": (ADVANCE, 0)}
    )
    builder.setupHorizontalHeader(ascent=ASCENT, descent=-DESCENT)
    builder.setupNameTable({"familyName": "Blocks", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=ASCENT, sTypoDescender=-DESCENT, usWinAscent=ASCENT, usWinDescent=DESCENT)
    builder.setupPost()
    table = CmapSubtable.newSubtable(13)
    table.platformID, table.platEncID, table.language, table.reserved = 3, 10, 0, 0
    characters = (*range(0x21, 0xA0), *range(0xA1, 0xD800), *range(0xE000, 0xFFFE), *range(0x1F000, 0x20000))
    table.cmap = {0x20: "space", 0xA0: "space"} | dict.fromkeys(characters, "block")
    builder.font["cmap"].tables.append(table)
    builder.font["head"].created = builder.font["head"].modified = 0
    builder.save(path)


if __name__ == "__main__":
    write_font(FONT)
