"""Convert structures of a whole program that rules for single nodes cannot change, if the target needs it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection

from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.constant_tables import tables_to_constants
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.prune import drop_functions
from tfport.fix.structure.ragged_variants import add_ragged_axis, drop_ragged_variants, rows_as_elements
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
from tfport.graph.model import Model
from tfport.graph.op_facts.kinds import FUNCTIONAL
from tfport.graph.reach import every_node
from tfport.registry.unresolved import Question

Changed = list[tuple[str, str]]
LISTS = "TensorList"
OF_TF1 = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")
RAGGED_VARIANTS = ("RaggedTensorToVariant", "RaggedTensorFromVariant")


class Restructuring:
    """Converts one model for one target."""

    def __init__(self, model: Model, checker: NodeChecker, journal: Journal, *, lower: bool = False) -> None:
        self.model, self.checker, self.journal, self.lower = model, checker, journal, lower
        self.reasons: list[str] = []
        """Why some structure was not converted."""

    def run(self) -> None:
        """Convert branches, loops, lists, tables and variables to the forms that the target supports."""
        self._control()
        self._ragged_variants()
        self._lists()
        self._tables()
        self._variables()
        drop_functions(self.model.graph, self.journal)

    def _control(self) -> None:
        functional = [(node.name, node.op) for node in self.model.graph if node.op in FUNCTIONAL]
        if functional and (self.lower or self._lacks(FUNCTIONAL) or self._lacks_lists()):
            says = "Branches and loops are lowered to Switch, Merge, Enter and Exit, as in TF1."
            self._change("lowered", says, lambda: functional if lower_all(self.model.graph) else [])
        elif self._lacks(OF_TF1):
            mixed = [(node.name, node.op) for node in self.model.graph if node.op in OF_TF1]
            says = "Branches and loops of TF1 become If and While with functions."
            self._change("raised", says, lambda: mixed if raise_control(self.model.graph) else [])

    def _lists(self) -> None:
        if self._lacks_lists():
            lists = [(node.name, node.op) for node in self.model.graph if node.op.startswith(LISTS)]
            says = "Tensor lists become TensorArrays, in which each element is written once."
            self._change("lists as arrays", says, lambda: self._arrays(lists))

    def _arrays(self, lists: Changed) -> Changed:
        lists_to_arrays(self.model.graph)
        return lists

    def _ragged_variants(self) -> None:
        if self._lacks(RAGGED_VARIANTS):
            says = "Ragged tensors are passed on as their parts, not in a variant."
            self._change("without variants", says, lambda: drop_ragged_variants(self.model.graph))
        if not self._lacks(RAGGED_VARIANTS):
            return
        if self.checker.definition(RAGGED_VARIANTS[0]) is None:
            says = "Lists have the rows of ragged tensors as plain tensors, not in variants."
            self._change("rows as elements", says, self._rows_as_elements)
        else:
            says = "Ragged variants get an outer axis of size 1: their rows cannot be plain tensors."
            self._change("rows as ragged tensors", says, self._ragged_axis)

    def _rows_as_elements(self) -> Changed:
        return rows_as_elements(self.model.graph, Facts(self.model), self.checker)

    def _ragged_axis(self) -> Changed:
        nodes = list(every_node(self.model.graph))
        return add_ragged_axis(nodes, Facts(self.model), self.checker)

    def _tables(self) -> None:
        graph = self.model.graph
        if self._lacks(IMPORTS):
            says = "Tables that are filled once use an initializer op, which every release has."
            self._change("initialized once", says, lambda: imports_to_initializers(graph))
        for form, name, says, change in (
            (
                V2,
                "tables by reference",
                "Lookup tables become references, as in TF1.",
                tables_to_v1,
            ),
            (V1, "tables as resources", "Lookup tables become resources.", tables_to_v2),
        ):
            ops = {**form.created, **form.read}
            if not self._lacks(ops):
                continue
            used = {node.op for node in graph}
            if all(self.checker.definition(new) is not None for old, new in ops.items() if old in used):
                self._change(name, says, functools.partial(change, graph))
            else:
                self._constant_tables()
            return

    def _constant_tables(self) -> None:
        says = "Small lookup tables become comparisons with their keys."
        self._change("tables as constants", says, self._without_tables)

    def _without_tables(self) -> Changed:
        files_to_constants(self.model)
        return tables_to_constants(self.model.graph, Facts(self.model), self.checker)

    def _variables(self) -> None:
        graph = self.model.graph
        if self._lacks([RESOURCE]) and self.checker.definition(REFERENCES[0]) is not None:
            says = "Variables become references, as in TF1."
            self._change("variables by reference", says, lambda: to_references(graph))
        elif self._lacks(REFERENCES) and self.checker.definition(RESOURCE) is not None:
            says = "Variables become resources."
            self._change("variables as resources", says, lambda: to_resources(graph))

    def _change(self, name: str, says: str, make: Callable[[], Changed]) -> None:
        try:
            self.journal.changed(name, says, make())
        except StructureRefusal as refusal:
            self.reasons.append(str(refusal))

    def _lacks(self, ops: Collection[str]) -> bool:
        """Whether the target does not run some node of these ops; unknown attributes are left to rules."""
        asked = frozenset(ops)
        nodes = (node for node in every_node(self.model.graph) if node.op in asked)
        return any(
            p.question is not Question.UNKNOWN_ATTR for node in nodes for p in self.checker.unresolved(node)
        )

    def _lacks_lists(self) -> bool:
        return self._lacks({node.op for node in every_node(self.model.graph) if node.op.startswith(LISTS)})
