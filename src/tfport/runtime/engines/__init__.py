"""Inference engines: what computes an island of a plan.

ONNX Runtime sends telemetry over the network from 1.31 on, unless this variable is set before it is imported.
Who wants it sets the variable to 0.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
