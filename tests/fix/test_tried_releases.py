"""The releases that a certificate counts as tried are those in which real packages ran rewritten models."""

import json
from pathlib import Path

import pytest
from tests.compact_json import read_json
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.tried_releases import KERAS_FILES, LITE_FILES, MODELS, TRIED
from tfport.graph.build import graph_to_def

ROOT = Path(__file__).parents[2]
UNTRIED = "rewritten files of this kind were not tried in this release"
GRAPH = graph_to_def(
    graph("x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = AddV2(x, x) {T=float32}")
).SerializeToString()


def read(path):
    return json.loads((ROOT / path).read_text())


def tensorflow_releases():
    """Releases whose binary gave the expected answers, from all records of rewritten models."""
    by_case = read_json(ROOT / "docs/truth/fix.json.xz").values()
    targets = {t for targets in by_case for t, e in targets.items() if e["outcome"] == "same"}
    found = {target.removeprefix("tensorflow==") for target in targets if "@" not in target}
    stateful = read("docs/evidence/stateful.json")["models"].values()
    found |= {t for model in stateful for t, e in model["targets"].items() if e["outcome"] == "same"}
    every = read("docs/evidence/releases.json")["tensorflow"]
    return found | {release for release, rows in every.items() if {o for o, _ in rows.values()} == {"same"}}


def test_releases_of_tensorflow():
    assert set(TRIED[MODELS]["tensorflow"].split()) == tensorflow_releases()


def test_releases_of_keras():
    """Since 2.6 the Keras of a TensorFlow is a package of its own."""
    asked = set()
    for name, sources in read("tests/fix/keras/real_rewrites.json").items():
        package, _, version = name.rpartition("-")
        if package == "tensorflow":
            release = resolve_targets(f"tensorflow=={version}")[0].keras
            package, version = release.package, release.version
        assert {outcome for outcomes in sources.values() for outcome in outcomes.values()} == {"right"}
        asked.add((package, version))
    tried = {(package, v) for package, versions in TRIED[KERAS_FILES].items() for v in versions.split()}
    assert tried == asked


DETECTOR = "repositories/0chil+curlingtomorrow/app/src/main/assets/detect.tflite"
QUANTIZED = (
    "83985151+androidMachineLearning/model.tflite",
    "Hrishita+Difabled/app/src/main/assets/mobilenet_v1_0.25_128_quant.tflite",
)
OTHERWISE = {
    ("deepcoil-2.0.2/deepcoil/weights/seq_5.h5", "tflite-runtime==2.7.0"),
    (DETECTOR, "tflite-runtime==2.7.0"),
    (DETECTOR, "tflite-runtime==2.14.0"),
    ("repositories/Adogamm+image-recognition/assets/model.tflite", "tflite-runtime==2.7.0"),
    ("repositories/Adogamm+image-recognition/assets/model.tflite", "tflite-runtime==2.14.0"),
    ("repositories/BlackLutos+CNN_In_Imgae_Recognition/model.tflite", "tflite-runtime==2.14.0"),
    *((f"repositories/{name}", f"tflite-runtime=={v}") for name in QUANTIZED for v in ("2.7.0", "2.14.0")),
}
"""What `lite_old_interpreters.md` explains; `export` writes nothing if it can run the file there."""


def test_interpreters_of_tensorflow_lite():
    """Each has run files, and answered none of them otherwise but those that are known."""
    outcomes, otherwise = {}, set()
    for name, row in read("docs/evidence/lite_old_interpreters.json").items():
        for release, outcome in row.items():
            outcomes.setdefault(release, []).append(outcome.partition(",")[0].partition(":")[0])
            if outcome.startswith("differs"):
                otherwise.add((name, release))
    assert otherwise == OTHERWISE
    tried = {f"{package}=={v}" for package, versions in TRIED[LITE_FILES].items() for v in versions.split()}
    assert tried == {release for release, found in outcomes.items() if "alike" in found}
    assert {outcome for found in outcomes.values() for outcome in found} == {"alike", "refused", "differs"}


@pytest.mark.parametrize(("release", "says"), [("1.4.1", False), ("1.4.0", True)])
def test_the_certificate_says_that_a_release_was_not_tried(release, says):
    certificate = tfport.fix(GRAPH, target=f"tensorflow=={release}").certificate
    assert (UNTRIED in certificate.target_statement) is says
