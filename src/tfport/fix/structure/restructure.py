"""Changes of a whole program that rules for single nodes cannot make, where the target needs them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection

from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.constant_tables import tables_to_constants
from tfport.fix.structure.functional_ops import FUNCTIONAL, StructureRefusal
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.prune import drop_functions
from tfport.fix.structure.ragged_variants import without_boxes
from tfport.fix.structure.raise_control import raise_control
from tfport.fix.structure.tables import (
    IMPORTS,
    V1,
    V2,
    imports_to_initializers,
    tables_to_v1,
    tables_to_v2,
)
from tfport.fix.structure.tensor_lists import lists_to_arrays
from tfport.fix.structure.variables import REFERENCES, RESOURCE, to_references, to_resources
from tfport.fix.structure.vocabularies import files_to_constants
from tfport.graph.census import every_node
from tfport.graph.model import Model
from tfport.registry.unresolved import Question

Changed = list[tuple[str, str]]
LISTS = "TensorList"
OF_TF1 = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
BOXES = ("RaggedTensorToVariant", "RaggedTensorFromVariant")


class Restructuring:
    """One model on its way to one target."""

    def __init__(self, model: Model, checker: NodeChecker, journal: Journal, *, lower: bool = False) -> None:
        self.model, self.checker, self.journal, self.lower = model, checker, journal, lower
        self.reasons: list[str] = []
        """Why some structure stayed."""

    def run(self) -> None:
        """Branches and loops, lists, tables, variables: each in the form that the target has."""
        self._control()
        self._boxes()
        self._lists()
        self._tables()
        self._variables()
        drop_functions(self.model.graph, self.journal)

    def _control(self) -> None:
        found = [(node.name, node.op) for node in self.model.graph if node.op in FUNCTIONAL]
        if found and (self.lower or self._lacks(FUNCTIONAL) or self._lacks_lists()):
            says = "Branches and loops are Switch, Merge, Enter and Exit, as TF1 has them."
            self._change("lowered", says, lambda: found if lower_all(self.model.graph) else [])
        elif self._lacks(OF_TF1):
            mixed = [(node.name, node.op) for node in self.model.graph if node.op in OF_TF1]
            says = "Branches and loops of TF1 are If and While, with functions."
            self._change("raised", says, lambda: mixed if raise_control(self.model.graph) else [])

    def _lists(self) -> None:
        if self._lacks_lists():
            found = [(node.name, node.op) for node in self.model.graph if node.op.startswith(LISTS)]
            says = "Lists of tensors are TensorArrays, written once in each place."
            self._change("lists as arrays", says, lambda: self._arrays(found))

    def _arrays(self, found: Changed) -> Changed:
        lists_to_arrays(self.model.graph)
        return found

    def _boxes(self) -> None:
        if self._lacks(BOXES):
            says = "Ragged tensors are handed on as their parts, not in a variant."
            self._change("without variants", says, lambda: without_boxes(self.model.graph))

    def _tables(self) -> None:
        graph = self.model.graph
        if self._lacks(IMPORTS):
            says = "Tables that are filled once are initialised, which every release does."
            self._change("initialised once", says, lambda: imports_to_initializers(graph))
        for form, name, says, change in (
            (
                V2,
                "tables by reference",
                "Look-up tables are held by reference, as TF1 had them.",
                tables_to_v1,
            ),
            (V1, "tables as resources", "Look-up tables are resources.", tables_to_v2),
        ):
            ops = {**form.made, **form.read}
            if not self._lacks(ops):
                continue
            used = {node.op for node in graph}
            if all(self.checker.definition(new) is not None for old, new in ops.items() if old in used):
                self._change(name, says, functools.partial(change, graph))
            else:
                self._constant_tables()
            return

    def _constant_tables(self) -> None:
        says = "Small look-up tables are comparisons with their keys."
        self._change("tables as constants", says, self._without_tables)

    def _without_tables(self) -> Changed:
        files_to_constants(self.model)
        return tables_to_constants(self.model.graph, Facts(self.model), self.checker)

    def _variables(self) -> None:
        graph = self.model.graph
        if self._lacks([RESOURCE]) and self.checker.definition(REFERENCES[0]) is not None:
            says = "Variables are held by reference, as TF1 had them."
            self._change("variables by reference", says, lambda: to_references(graph))
        elif self._lacks(REFERENCES) and self.checker.definition(RESOURCE) is not None:
            says = "Variables are resources."
            self._change("variables as resources", says, lambda: to_resources(graph))

    def _change(self, name: str, says: str, make: Callable[[], Changed]) -> None:
        try:
            self.journal.changed(name, says, make())
        except StructureRefusal as refusal:
            self.reasons.append(str(refusal))

    def _lacks(self, ops: Collection[str]) -> bool:
        """Whether the target does not take some node of these ops; rules take unknown attributes off."""
        asked = frozenset(ops)
        nodes = (node for node in every_node(self.model.graph) if node.op in asked)
        return any(
            p.question is not Question.UNKNOWN_ATTR for node in nodes for p in self.checker.unresolved(node)
        )

    def _lacks_lists(self) -> bool:
        return self._lacks({node.op for node in every_node(self.model.graph) if node.op.startswith(LISTS)})
