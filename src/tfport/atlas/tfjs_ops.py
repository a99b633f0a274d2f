"""The ops of TensorFlow.js that TensorFlow does not have: only TensorFlow.js and tfport run them.

`tfjs_ops()[name]` is the definition of one. `known_ops` includes them.
"""

from __future__ import annotations

import functools
import os

from tfport.formats.encoding.message import parse_text
from tfport.formats.proto.graph_pb2 import OpDef, OpList

TENSORFLOW_JS = "TensorFlow.js"
_FILE = "tfjs_ops.pbtxt"


@functools.cache
def tfjs_ops() -> dict[str, OpDef]:
    """Return the definitions by name."""
    with open(os.path.join(os.path.dirname(__file__), _FILE), "rb") as file:
        text = file.read()
    return {op.name: op for op in parse_text(OpList, text, _FILE).op}
