"""Write tests/truth/keras.tar.xz: models saved by real releases, and a question for each.

    python tools/truth/make_keras_models.py [RELEASE...] [--keep]

Each release of the table below saves its models with `keras_models`, in its own environment. Models that
pages name become folders in tests/truth/keras instead (`tests.truth_models`).
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from environments import environment
from record_python import QUIET
from tests.truth_models import TRUTH, Models, read_model, store_models, stored_models

from tfport.formats.proto.saved_model_pb2 import SavedModel, SignatureDef

KERAS = TRUTH / "keras"
MODELS = Path(__file__).with_name("keras_models.py")

WRITTEN = {
    "1.15.5": "simple_save hub_module_v1 estimator functional_adam",
    "2.0.4": "functional_adam module lstm_in_a_function",
    "2.3.4": "functional_adam subclassed lambda_layer operators estimator",
    "2.6.5": "functional_adam string_lookup custom_layer embedding lstm",
    "2.8.4": "functional functional_sgd functional_without_traces convolution custom_layer_with_config "
    "module_with_table hub_module two_inputs gru_with_batch_norm",
    "2.11.1": "functional_adam functional_legacy_adam functional_without_optimizer operators "
    "text_vectorization lambda_layer",
    "2.13.1": "functional_adam subclassed_adam module_with_optimizer string_lookup",
    "2.16.2": "exported exported_lstm saved_as_object",
    "2.21.0": "exported_adam exported_string_lookup module",
}

ROW, SEQUENCE = [[0.5, -1.0, 2.0]], [[[0.5, -1.0, 2.0], [1.0, 0.0, -2.0]]]
EXAMPLE = "\n\x12\n\x10\n\x04size\x12\x08\x12\x06\n\x04\0\0\0@"
"""A tf.train.Example with a size of 2.0; it is valid UTF-8, as JSON requires."""
VALUES = {
    "two_inputs": {"a": ROW, "b": ROW},
    "embedding": [[0, 1, 2, 3]],
    "convolution": [[[[float(4 * row + column)] for column in range(4)] for row in range(4)]],
    "module_with_table": ["fry"],
    "estimator": [EXAMPLE],
    "string_lookup": [["fry"]],
    "exported_string_lookup": [["fry"]],
    "text_vectorization": [["fry the pasta"]],
    "lstm": SEQUENCE,
    "exported_lstm": SEQUENCE,
    "lstm_in_a_function": SEQUENCE,
    "gru_with_batch_norm": SEQUENCE,
}
"""Inputs that are not a row of three numbers; by name for models with several inputs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="*", default=list(WRITTEN))
    parser.add_argument("--keep", action="store_true", help="keep the environments of the releases")
    args = parser.parse_args()
    models = stored_models(KERAS)
    for release in args.releases:
        models |= written_by(release, WRITTEN[release].split(), args.keep)
    store_models(models, KERAS)
    questions = {f"keras/{name}": question(name, files) for name, files in sorted(models.items())}
    lines = [f"{json.dumps(case)}: {json.dumps(asked)}" for case, asked in questions.items()]
    (KERAS / "questions.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def written_by(release: str, names: list[str], keep: bool) -> Models:
    """Return the models that a release saves, without their debug information."""
    with environment("tensorflow", release, keep) as python, tempfile.TemporaryDirectory() as out:
        command = [python, "-W", "ignore", MODELS, out, *names]
        subprocess.run(command, env={**os.environ, **QUIET}, check=True)
        for name in names:
            shutil.rmtree(Path(out, name, "debug"), ignore_errors=True)
        models = {f"{name}-{release}": read_model(Path(out, name)) for name in names}
    for name, files in models.items():
        print(f"{name}: {sum(map(len, files.values())) // 1024} kB", flush=True)
    return models


def question(model: str, files: dict[str, bytes]) -> dict:
    name, release = model.rsplit("-", 1)
    graph, *_ = SavedModel.FromString(files["saved_model.pb"]).meta_graphs
    signatures = dict(graph.signature_def)
    return {
        "path": f"tests/truth/keras/{model}",
        "about": f"{name.replace('_', ' ')}, written by {release}",
        "signatures": {s: values(name, signatures[s]) for s in ["serving_default"] if s in signatures},
    }


def values(name: str, signature: SignatureDef) -> dict:
    value = VALUES.get(name, ROW)
    return value if isinstance(value, dict) else {next(iter(signature.inputs)): value}


if __name__ == "__main__":
    main()
