"""The names by which users choose an engine."""

USUAL = "default"
"""ONNX Runtime, and LiteRT for `.tflite` files that nobody changed, if it is installed."""
ENGINES = (USUAL, "onnxruntime", "openvino", "openvino-bfloat16", "litert", "auto", "none")


def listed_engines() -> str:
    """The names in a sentence."""
    return f"{', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
