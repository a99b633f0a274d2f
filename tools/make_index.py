"""Write `index.json`: which module declares which ops, rules, findings, commands, renderers and formats.

`make index` runs it. Every module is imported, and each declaration belongs to the module
whose top level was being executed, whichever function made it.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from tfport import discovery
from tfport.discovery import Catalog

OUT = Path(__file__).parent.parent / "src/tfport" / discovery.INDEX
CATALOGS = (
    "tfport.check.findings.finding",
    "tfport.rendering",
    "tfport.reports.check.formats",
    "tfport.cli.commands",
    "tfport.fix.lite.rule",
    "tfport.fix.rule",
    "tfport.graph.op_facts.rule",
    "tfport.frontends.keras.layer",
    "tfport.frontends.lite.operator",
    "tfport.runtime.lower",
    "tfport.runtime.passes.pass_list",
)
"""The modules that make catalogs."""


def main() -> None:
    OUT.write_text(text(index()))


def index() -> dict[str, dict[str, set[str]]]:
    """The names that each module declares, by kind."""
    Catalog.recording = True
    for module in CATALOGS:
        importlib.import_module(module)
    for catalog in Catalog.every.values():
        catalog.all()
    return {kind: catalog.origins for kind, catalog in Catalog.every.items()}


def text(kinds: dict[str, dict[str, set[str]]]) -> str:
    rows = {
        kind: {
            module.removeprefix("tfport."): " ".join(sorted(names))
            for module, names in sorted(modules.items())
        }
        for kind, modules in sorted(kinds.items())
    }
    return json.dumps(rows, indent=0) + "\n"


if __name__ == "__main__":
    main()
