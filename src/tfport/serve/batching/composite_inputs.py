"""Detect inputs that are components of a sparse or ragged tensor.

TensorFlow 2 flattens such an input in a signature: `words` becomes `words` and `words_1`, each an
ordinary tensor. Their sizes may be equal by chance, but their first axis is not a batch axis. The
functions of the model show whether there are composite inputs, the names show which ones they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model, Signature

NUMBERED = re.compile(r"(.+)_\d+")
WHOLE = (pb.TypeSpecProto.UNKNOWN, pb.TypeSpecProto.VARIABLE_SPEC)
"""Types of a `TypeSpec` that is a single tensor."""


def has_composite_inputs(model: Model, signature: Signature) -> bool:
    """Whether several inputs of a signature are components of one composite tensor."""
    numbered = (NUMBERED.fullmatch(name) for name in signature.inputs)
    return any(match and match[1] in signature.inputs for match in numbered) and _has_composites(model)


def _has_composites(model: Model) -> bool:
    """Whether a function of the model takes an input made of several tensors."""
    functions = model.meta.object_graph_def.concrete_functions.values()
    return any(spec not in WHOLE for f in functions for spec in _specs(f.canonicalized_input_signature))


def _specs(value: pb.StructuredValue) -> Iterator[int]:
    pending = [value]
    while pending:
        structure = pending.pop()
        kind = structure.WhichOneof("kind")
        if kind == "type_spec_value":
            yield structure.type_spec_value.type_spec_class
        elif kind == "dict_value":
            pending.extend(structure.dict_value.fields.values())
        elif kind == "named_tuple_value":
            pending.extend(pair.value for pair in structure.named_tuple_value.values)
        elif kind in ("list_value", "tuple_value"):
            pending.extend(getattr(structure, kind).values)
