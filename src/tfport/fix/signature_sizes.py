"""Change the sizes of inputs that a model states, and verify that it then answers as before.

A graph can contain a size as a constant, so that it runs for no other: the changed model is run with the new
sizes, and each example of a batch is compared with the answer of the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.fix.certify.compare import Tolerance, compare
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.narrowest import narrowest_types
from tfport.fix.certify.trials import Sizing, TrialBuilder
from tfport.fix.journal import Journal
from tfport.fix.metadata import drop_inferred_shapes
from tfport.graph.graph import Node
from tfport.graph.infer_shapes import infer_shapes
from tfport.graph.model import Model, Signature
from tfport.graph.shapes import Shape
from tfport.runtime.session import Session

PLACEHOLDERS = ("Placeholder", "PlaceholderWithDefault")
EXAMPLES = 3
"""How many times the batch of the original a model of any batch size is tried with."""
OTHER_SIZE = 4


def set_shapes(original: Model, changed: Model, shapes: Mapping[str, Mapping[str, Shape]]) -> None:
    """State new shapes of inputs, by signature and name; Error if the model does not answer as before."""
    drop_inferred_shapes(changed, Journal())
    for name, inputs in shapes.items():
        for key, shape in inputs.items():
            node = _placeholder(changed, changed.signatures[name], key)
            node.become(node.op, {**node.attrs, "shape": shape})
            changed.meta.signature_def[name].inputs[key].tensor_shape.CopyFrom(shape.to_proto())
    _infer_outputs(changed)
    changed.__dict__.pop("signatures", None)
    for name, inputs in shapes.items():
        if inputs:
            _check(original, changed, name, inputs)


def _placeholder(model: Model, signature: Signature, key: str) -> Node:
    node = model.graph.value(signature.inputs[key].tensors[0]).node
    if node.op not in PLACEHOLDERS:
        raise Error(
            f"{model.where}: input `{key}` is computed by `{node.name}` ({node.op}); its shape cannot be set"
        )
    return node


def _infer_outputs(model: Model) -> None:
    inferred = infer_shapes(model.graph)
    for name, signature in model.signatures.items():
        for key, spec in signature.outputs.items():
            if spec.form == "dense" and model.has_tensor(spec.tensors[0]):
                shape = inferred.shape(model.graph.value(spec.tensors[0]))
                model.meta.signature_def[name].outputs[key].tensor_shape.CopyFrom(shape.to_proto())


def _check(original: Model, changed: Model, name: str, shapes: Mapping[str, Shape]) -> None:
    before, after = original.signatures[name], changed.signatures[name]
    rows = _rows(before)
    trial = TrialBuilder(changed, after).trial(Sizing(EXAMPLES * (rows or 1), OTHER_SIZE), ORDINARY)
    sizes = ", ".join(f"{key} {Shape(array.shape)}" for key, array in trial.inputs.items())
    try:
        answers = Session(changed).signature(name)(**trial.inputs)
    except Error as error:
        if all(_states_only_rank(before.inputs[key].shape, shape) for key, shape in shapes.items()):
            return  # these inputs do not fit each other, whatever the rank
        raise Error(
            f"{original.where}: signature `{name}` does not run with {sizes}: {error}; the model needs the "
            "sizes that it states"
        ) from None
    count = len(next(iter(trial.inputs.values()))) if rows else 0
    if rows is None or count % rows or not _same_beside_rows(before, trial.inputs):
        return  # the original cannot be asked
    mixed = mixed_outputs(original, before, trial.inputs, answers, rows)
    if mixed:
        raise Error(
            f"{original.where}: output `{mixed[0]}` of `{name}` differs with {sizes} from the answers for "
            f"{rows} at a time, so the model mixes the examples of a batch"
        )


def _states_only_rank(before: Shape, after: Shape) -> bool:
    return before.dims is None and not any(after.dims or ())


def mixed_outputs(
    model: Model, signature: Signature, inputs: Mapping[str, Any], answers: Mapping[str, Any], rows: int
) -> list[str]:
    """The outputs in which an example has another answer in a batch than among `rows` examples."""
    parts = _answers_by_batch(model, signature.name, inputs, rows)
    narrowest = narrowest_types(model, signature)

    def is_mixed(key: str, answer: Any) -> bool:
        answers_of_key = [np.atleast_1d(part[key]) for part in parts]
        if len({a.shape[1:] for a in answers_of_key}) > 1:  # sizes that depend on the examples
            return True
        expected = np.concatenate(answers_of_key)
        return not compare(answer, expected, Tolerance(narrowest=narrowest.get(key))).alike

    return [key for key, answer in answers.items() if is_mixed(key, answer)]


def _rows(signature: Signature) -> int | None:
    """The batch size of the original: any if it is open; None if the inputs have no common one."""
    sizes = {spec.shape.dims[0] if spec.shape.dims else 0 for spec in signature.inputs.values()}
    known = sizes - {None}
    if 0 in sizes or len(known) > 1 or any(spec.shape.dims is None for spec in signature.inputs.values()):
        return None
    return next(iter(known), 1)


def _same_beside_rows(signature: Signature, inputs: Mapping[str, Any]) -> bool:
    """Whether the original accepts these inputs but for the number of examples."""
    return all(
        Shape(array.shape[1:]).fits(Shape((signature.inputs[key].shape.dims or ())[1:]))
        for key, array in inputs.items()
    )


def _answers_by_batch(
    model: Model, name: str, inputs: Mapping[str, Any], rows: int
) -> list[Mapping[str, Any]]:
    """The answers of the original to the same examples, as many at a time as it takes."""
    call = Session(model).signature(name)
    count = len(next(iter(inputs.values())))
    return [
        call(**{key: array[start : start + rows] for key, array in inputs.items()})
        for start in range(0, count, rows)
    ]
