"""Take the large contents of tensors out of a message, so that they need not be sent with it.

    data, places = detach("Predict", data, blocks)         in the front end

A message that cannot be parsed is left as it is: the server says what is wrong with it.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.front_ends.shared_blocks import BlockPlace, SharedBlocks

LARGE = 1 << 14
"""Bytes from which the content of a tensor goes into a block."""
DETACHED_METHODS = frozenset(["tensorflow.serving.PredictionService/Predict"])


def detach(method: str, data: bytes, blocks: SharedBlocks) -> tuple[bytes, dict[str, BlockPlace]]:
    """Return the message without the contents that now are in blocks, and where they are by input."""
    places: dict[str, BlockPlace] = {}
    if method not in DETACHED_METHODS or len(data) < LARGE:
        return data, places
    try:
        request = wire.PredictRequestWire.FromString(data)
    except DecodeError:
        return data, places
    for name, tensor in request.inputs.items():
        content = tensor.tensor_content
        place = blocks.put(content) if len(content) >= LARGE else None
        if place is not None:
            places[name] = place
            tensor.ClearField("tensor_content")
    return (request.SerializeToString() if places else data), places
