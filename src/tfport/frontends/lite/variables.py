"""The types of variables: a handle does not state it, but what reads and assigns the variable does."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.formats.lite.records import LiteFile, LiteOperator, Subgraph

VariableKey = tuple[str, str]
"""The container and the name that handles of one variable share."""
PASSED = {"IF": 1, "STABLEHLO_CASE": 1}
"""How many inputs of an operator are not passed to the subgraphs that it calls."""


def variable_key(operator: LiteOperator) -> VariableKey:
    """The variable that a VAR_HANDLE refers to."""
    return operator.options.get("container") or "", operator.options.get("shared_name") or ""


def variable_types(file: LiteFile) -> dict[VariableKey, str]:
    """The type of each variable that some operator reads or assigns."""
    types: dict[VariableKey, str] = {}
    visited: set[tuple[int, tuple[tuple[int, VariableKey], ...]]] = set()
    todo: list[tuple[int, dict[int, VariableKey]]] = [(number, {}) for number in range(len(file.subgraphs))]
    while todo:
        number, handles = todo.pop()
        if (mark := (number, tuple(sorted(handles.items())))) in visited:
            continue
        visited.add(mark)
        graph = file.subgraphs[number]
        for operator in graph.operators:
            op, inputs = operator.code.op, operator.inputs
            if op == "VAR_HANDLE" and operator.outputs:
                handles[operator.outputs[0]] = variable_key(operator)
            elif op in ("READ_VARIABLE", "ASSIGN_VARIABLE") and inputs and inputs[0] in handles:
                for index in (operator.outputs if op == "READ_VARIABLE" else inputs[1:])[:1]:
                    types[handles[inputs[0]]] = graph.tensors[index].type
            else:
                todo += _called(file, operator, handles)
    return types


def _called(
    file: LiteFile, operator: LiteOperator, handles: dict[int, VariableKey]
) -> Iterator[tuple[int, dict[int, VariableKey]]]:
    """The subgraphs that an operator calls, with the handles among their inputs."""
    passed = operator.inputs[PASSED.get(operator.code.op, 0) :]
    if handles.keys() & set(passed):
        for number in subgraphs_of(operator):
            if 0 <= number < len(file.subgraphs):
                yield number, _bound(file.subgraphs[number], passed, handles)


def _bound(
    graph: Subgraph, passed: tuple[int, ...], handles: dict[int, VariableKey]
) -> dict[int, VariableKey]:
    return {own: handles[index] for own, index in zip(graph.inputs, passed, strict=False) if index in handles}


def subgraphs_of(operator: LiteOperator) -> list[int]:
    """The subgraphs that an operator calls."""
    numbers = []
    for name, value in operator.options.items():
        if name.endswith(("subgraph_index", "subgraph")):
            numbers.append(value)
        elif name.endswith("subgraph_indices"):
            numbers += list(value)
    return numbers
