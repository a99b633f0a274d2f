"""Read an error message of ONNX Runtime: which node it is about, and what is wrong.

    node_message("[ONNXRuntimeError] : … Name:'Reshape:a/b#7' Status Message: …/reshape_helper.h:91 … …")
    "`a/b` (Reshape): The input tensor cannot be reshaped to the requested shape. …"

The names of nodes are those that `onnx` gives them: op, name in the model, and a number.
"""

from __future__ import annotations

import re

from tfport.startup.late_pattern import late_pattern

_RUN = late_pattern(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : Non-zero status code returned while running \w+ node\. "
    r"Name:'(?P<op>\w+):(?P<node>[^'#]*)#?\d*' Status Message: (?P<text>.+)",
    re.DOTALL,
)
# a file of ONNX Runtime, its function, and the condition that it checked
_LOCATION = late_pattern(r"\S+:\d+ .*? was false\. (?=\S)", re.DOTALL)


def node_message(message: str) -> str:
    """The message in tfport's form, without source locations; as it is if it is not about one node."""
    match = _RUN.fullmatch(message)
    if match is None:
        return message
    text = _LOCATION.sub("", match["text"], count=1) if _LOCATION.match(match["text"]) else match["text"]
    return f"`{match['node']}` ({match['op']}): {text}"
