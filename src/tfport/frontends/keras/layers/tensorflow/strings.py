"""Functions of strings."""

from __future__ import annotations

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tf_function
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import DType


@tf_function("strings.regex_replace")
def regex_replace(
    b: LayerBuilder, input: LayerTensor, pattern: str, rewrite: str, replace_global: bool = True
) -> LayerTensor:
    node = b.node(
        "StaticRegexReplace", input, pattern=pattern, rewrite=rewrite, replace_global=replace_global
    )
    return b.tensor(node, input.shape)


@tf_function("strings.to_number")
def to_number(b: LayerBuilder, input: LayerTensor, out_type: str = "float32") -> LayerTensor:
    return b.tensor(b.node("StringToNumber", input, out_type=DType.parse(out_type)), input.shape)
