"""Turn fed tensors into placeholders, so that what computes them can be removed."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.errors import Error
from tfport.fix.journal import Journal
from tfport.graph.model import Model

PLACEHOLDER = "Placeholder"


def feeds_to_placeholders(model: Model, feeds: Iterable[str], journal: Journal) -> None:
    """Replace the nodes of fed tensors by placeholders of the same name."""
    changed = []
    for name in feeds:
        value = model.graph.value(name)
        node = value.node
        if others := [other for other in node.read_outputs if other is not value]:
            reader = others[0].uses[0]
            raise Error(f"`{name}` cannot become a placeholder: `{reader}` reads `{others[0].name}`")
        if value.index:
            raise Error(
                f"`{name}` cannot become a placeholder: a placeholder has only the output `{node.name}:0`; "
                f"feed what `{value.uses[0] if value.uses else node}` computes instead"
            )
        if not node.op.startswith(PLACEHOLDER):
            changed.append((node.name, node.op))
            attrs = {"dtype": value.dtype.base, "shape": value.shape}
            node.set_inputs(())
            node.set_controls(())
            node.become(PLACEHOLDER, attrs)
    journal.changed("fed", "Nodes whose outputs are fed become placeholders.", changed)
