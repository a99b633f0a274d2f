"""Examples of a request as the one tensor that a signature takes: serialised, a string for each.

Nothing is looked into here. A context is put in front of every Example: messages written one after the
other are one message with the fields of both.
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
    """Serialised Examples as a tensor."""
    if not examples:
        raise invalid_argument("Input is empty.")
    array = np.empty(len(examples), object)
    array[:] = [context + example for example in examples] if context else list(examples)
    return array


def input_tensor(message: wire.InputWire | pb.Input) -> NDArray[Any]:
    """The Examples of a request as a tensor."""
    if isinstance(message, pb.Input):
        message = wire.InputWire.FromString(message.SerializeToString(deterministic=True))
    if message.WhichOneof("kind") == "example_list_with_context":
        both = message.example_list_with_context
        return examples_tensor(both.examples, both.context)
    return examples_tensor(message.example_list.examples)
