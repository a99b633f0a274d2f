"""The names by which users choose an engine."""

ENGINES = ("onnxruntime", "openvino", "openvino-bfloat16", "litert", "auto", "none")


def listed_engines() -> str:
    """The names in a sentence."""
    return f"{', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
