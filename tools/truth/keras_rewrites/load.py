"""Load Keras files in a release of Keras and compare their answers with the recorded ones.

    python load.py OUTCOMES.json FILE ANSWERS.npz [FILE ANSWERS.npz…]

An outcome is the largest difference relative to the largest answer, or the error.
"""

import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "numpy")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

try:
    import keras

    if int(keras.__version__.split(".")[0]) < 3:
        from tensorflow import keras
except ImportError:
    from tensorflow import keras
if "TF_USE_LEGACY_KERAS" in os.environ:
    import tf_keras as keras

IS_TENSORFLOW_1 = "tensorflow" in sys.modules and sys.modules["tensorflow"].__version__.startswith("1.")
"""It has no tensors outside of sessions."""


def difference(path, answers):
    model = keras.models.load_model(path, compile=False)
    recorded = np.load(answers)
    inputs = [recorded[f"x{i}"] for i in range(sum(name[0] == "x" for name in recorded.files))]
    inputs = inputs if len(inputs) > 1 else inputs[0]
    outputs = model.predict(inputs) if IS_TENSORFLOW_1 else model(inputs, training=False)
    outputs = list(outputs.values()) if isinstance(outputs, dict) else outputs
    worst = 0.0
    for i, y in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs]):
        expected = recorded[f"y{i}"]
        worst = max(
            worst, float(np.max(np.abs(np.asarray(y) - expected)) / (np.max(np.abs(expected)) + 1e-9))
        )
    return worst if np.isfinite(worst) else "not finite"


outcomes = {}
for path, answers in zip(sys.argv[2::2], sys.argv[3::2]):  # noqa: B905
    try:
        outcomes[path] = difference(path, answers)
    except Exception as error:
        outcomes[path] = "{}: {}".format(type(error).__name__, " ".join(str(error).split())[:300])
with open(sys.argv[1], "w") as file:
    json.dump(outcomes, file)
