"""Run what `tfport export --for tflite-runtime==…` or `ai-edge-litert==…` writes in those real interpreters.

    python tools/lite_old_interpreters.py PYTHON…     Pythons that have one of them, each of one release
    python tools/lite_old_interpreters.py page        write docs/evidence/lite_old_interpreters.md

The models are recorded ones and, for tflite-runtime, those of published packages (`tools/real_models.py`).
The comparison is that of every export, with the outputs of the model in tfport's runtime:
docs/evidence/lite_old_interpreters.json; what is recorded there is not run again.
`tfport.fix.tried_releases` lists the releases that ran files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import real_models

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "evidence" / "lite_old_interpreters.json"
RECORDED = (
    "custom_gradient", "frozen", "functional_loops", "keras_functional", "keras_lstm", "keras_sequential",
    "nested_functions", "tensor_lists",
)  # fmt: skip
PUBLISHED = (
    "bilimusic-0.1.2/bilimusic/models/LapSRN_x2.pb",
    "brainhance-0.0.1/brainhance/saved_models/Brain_Tumor",
    "brainhance-0.0.1/brainhance/saved_models/dHCP",
    "cvlab-keras-1.1/cvlab_keras/models/MNIST_model.h5",
    "deepcoil-2.0.2/deepcoil/weights/seq_5.h5",
    "deepextractor-0.1.4/deepextractor/assets/cdvgan",
    "deepglow-1.1.0/DeepGlow/data/model-ism-final.hdf5",
    "digitsclassifier-2.1.0/digitsclassifier/models/digit_classifier_model.keras",
    "ethome-ml-0.6.2/ethome/features/pretrained_models/task1_model_fold_0/the_model",
    "iris-emotion-0.2.0/iris_emotion/SA_Model_Final_v8",
    "lstm-anomaly-tool-0.1.4/lstm_anomaly_tool/model.h5",
    "nijiflow-0.1.0/nijiflow/models/nijinet_v1_1.0_224.graphdef.pb",
    "pyapetnet-1.5.6/pyapetnet/trained_models/S1_osem_b10_fdg",
    "repositories/AILab-FOI+AILunarLander/saved_model",
    "timestamp2vec-1.0.0/timestamp2vec/encoder_VAE",
    "ultrastar-pitch-0.81/ultrastar_pitch/binaries/tf2_256_96_12_astft_pca.model",
)
TFLITE_RUNTIME = "tflite-runtime"
RELEASE = """
try:
    from importlib.metadata import version
except ImportError:
    version = lambda name: __import__("pkg_resources").get_distribution(name).version
for name in ("tflite-runtime", "ai-edge-litert"):
    try:
        print(name + "==" + version(name))
    except Exception:
        pass
"""


def models(package: str) -> dict[str, Path]:
    sys.path.insert(0, str(ROOT))
    from tests.recorded_models import path_of

    published = (*PUBLISHED, *newest()) if package == TFLITE_RUNTIME else ()
    return {name: Path(path_of(name)) for name in RECORDED} | {
        name: real_models.CACHE / name for name in published
    }


def newest() -> list[str]:
    """The models of the newest draw that were written for the newest interpreter."""
    rows = json.loads(DATA.with_name("lite_export.json").read_text())
    draw = max(row.get("draw", 0) for row in rows.values())
    return [n for n, row in rows.items() if row.get("draw") == draw and row["export"]["size"]]


def outcome(path: Path, release: str, python: str) -> str:
    import tfport
    from tfport.atlas.resolve.targets import resolve_targets
    from tfport.fix.lite.export import export_lite
    from tfport.fix.options import FixOptions

    model = tfport.load(path)
    names = list(model.signatures)
    chosen = ("serving_default" if "serving_default" in names else names[0],) if names else None
    (target,) = resolve_targets(release)
    try:
        fixed = export_lite(
            model, target, "m.tflite", FixOptions(signatures=chosen, pythons=(python,), allow_lossy=False)
        )
    except tfport.Error as error:
        return f"refused: {str(error).removeprefix(f'{path}: ')[:200]}"
    if fixed.verification is None:
        return f"refused: {fixed.remaining[0][:200]}"
    there = [c for c in fixed.verification.comparisons if release.partition("==")[0] in c.runner]
    stopped = [c.stopped for c in there if c.stopped]
    if stopped:
        return f"not loaded: {stopped[0][:200]}"
    return f"{there[0].verdict}, {there[0].answered} inputs" if there else "not run"


def run(python: str) -> None:
    release = subprocess.run(
        [python, "-c", RELEASE], capture_output=True, text=True, check=True
    ).stdout.split()[0]
    for name, path in models(release.partition("==")[0]).items():
        results = json.loads(DATA.read_text()) if DATA.exists() else {}
        if release in results.get(name, {}) or not path.exists():
            continue
        results.setdefault(name, {})[release] = found = outcome(path, release, python)
        DATA.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(name, release, found, flush=True)


def page() -> None:
    results = json.loads(DATA.read_text())
    releases = sorted({r for row in results.values() for r in row}, key=_order)
    lines = [
        "# Exports in old interpreters",
        "",
        "`tools/lite_old_interpreters.py` writes each model with `tfport export --for RELEASE` and runs the",
        "file in that release, from the package index. The index has no tflite-runtime before 2.7.0.",
        "Where a file differs there, nothing is written: deepcoil's smallest answers, 17 of 7,500, are off",
        "by up to 1.4e-7 in 2.7.0, beyond the tolerance of 1e-4 of their size. Five quantized models were",
        "`.tflite` files before, curlingtomorrow's detector and four other networks: each and what was",
        "written give the same answers in 2.14.0, and the same in LiteRT 2.3.0, but the two releases differ",
        "(two of them, and 2.7.0, by 4 to 12 steps). netra-transliterate takes absolute values of int32,",
        "which 2.7.0 does not have.",
        "2.7.0 has no DYNAMIC_UPDATE_SLICE, by which recurrent layers keep their outputs: in the first run,",
        "these were refused. SELECT_V2 does it now, and four of them ran again (Aditya-Kandari,",
        "Akhil-Krishna, AllenHuang315, AmaanArif25); the refused rows that are left did not.",
        "",
        f"| model | {' | '.join(releases)} |",
        f"|---|{'---|' * len(releases)}",
    ]
    lines += [
        f"| {n} | {' | '.join(row.get(r, '-') for r in releases)} |" for n, row in sorted(results.items())
    ]
    DATA.with_suffix(".md").write_text("\n".join(lines) + "\n")


def _order(release: str) -> tuple[bool, list[int]]:
    package, _, version = release.partition("==")
    return package != TFLITE_RUNTIME, [*map(int, version.split("."))]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page"]:
            page()
        case [_, *_] as pythons:
            for each in pythons:
                run(each)
        case _:
            sys.exit(__doc__)
