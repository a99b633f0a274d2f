"""Inputs that are parts of a sparse or ragged one, though the signature does not say so.

TensorFlow 2 flattens such an input: `words` becomes `words` and `words_1`, each an ordinary tensor.
Their sizes may agree by chance, but they have no rows to be joined along. That there are any is known
from the functions of the model, that these are the ones from their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model, Signature

NUMBERED = re.compile(r"(.+)_\d+")
WHOLE = (pb.TypeSpecProto.UNKNOWN, pb.TypeSpecProto.VARIABLE_SPEC)
"""Specifications of what is one tensor, if anything."""


def has_composite_inputs(model: Model, signature: Signature) -> bool:
    """Whether inputs of a signature belong together as the parts of one."""
    numbered = (NUMBERED.fullmatch(name) for name in signature.inputs)
    return any(match and match[1] in signature.inputs for match in numbered) and _has_composites(model)


def _has_composites(model: Model) -> bool:
    """Whether a function of the model takes an input of several tensors."""
    functions = model.meta.object_graph_def.concrete_functions.values()
    return any(spec not in WHOLE for f in functions for spec in _specs(f.canonicalized_input_signature))


def _specs(value: pb.StructuredValue) -> Iterator[int]:
    waiting = [value]
    while waiting:
        at = waiting.pop()
        kind = at.WhichOneof("kind")
        if kind == "type_spec_value":
            yield at.type_spec_value.type_spec_class
        elif kind == "dict_value":
            waiting.extend(at.dict_value.fields.values())
        elif kind == "named_tuple_value":
            waiting.extend(pair.value for pair in at.named_tuple_value.values)
        elif kind in ("list_value", "tuple_value"):
            waiting.extend(getattr(at, kind).values)
