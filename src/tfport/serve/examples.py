"""The Examples of a request as one string tensor: each Example serialized.

Examples are not parsed here. A context is prepended to each Example: concatenated protobuf messages
parse as one message with the fields of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import serving_pb2 as pb
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.status import invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray


def examples_tensor(examples: Sequence[bytes], context: bytes = b"") -> NDArray[Any]:
    """Return serialized Examples as a tensor."""
    if not examples:
        raise invalid_argument("Input is empty.")
    array = np.empty(len(examples), object)
    array[:] = [context + example for example in examples] if context else list(examples)
    return array


def input_tensor(message: wire.InputWire | pb.Input) -> NDArray[Any]:
    """Return the Examples of a request as a tensor."""
    if isinstance(message, pb.Input):
        message = wire.InputWire.FromString(message.SerializeToString(deterministic=True))
    if message.WhichOneof("kind") == "example_list_with_context":
        with_context = message.example_list_with_context
        return examples_tensor(with_context.examples, with_context.context)
    return examples_tensor(message.example_list.examples)
