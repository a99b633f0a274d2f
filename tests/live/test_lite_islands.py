"""Islands that are translated for LiteRT answer the same in the interpreter of TensorFlow."""

import pytest
import tensorflow as tf
from tests.runtime.engines.litert.rules.node_cases import CASES, small_model
from tests.runtime.engines.litert.translated import assert_same


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize("case", CASES)
def test_the_interpreter_of_tensorflow_answers_the_same(case):
    model = small_model(case)
    lite = model.translated()
    interpreter = tf.lite.Interpreter(model_content=lite.content, num_threads=1)
    interpreter.allocate_tensors()
    for tensor, array in zip(lite.inputs, model.arrays, strict=True):
        interpreter.set_tensor(tensor, array)
    interpreter.invoke()
    assert_same(model.by_onnx_runtime(), [interpreter.get_tensor(tensor) for tensor in lite.outputs])
