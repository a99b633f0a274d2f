"""Prove what `tfport fix` makes of Keras SavedModels: real TensorFlow and real Keras answer, file by file.

    PYTHON_WITH_TENSORFLOW keras_subclassed_make.py OUT                 makes subclassed models
    python keras_saved_models.py write OUT TARGET[,TARGET…] MODEL…      files and ten inputs, OUT/0/…
    python keras_saved_models.py write_graph …                          the same with `--as-graph`
    PYTHON_WITH_TENSORFLOW keras_saved_models_answer.py tensorflow OUT  the SavedModels answer
    PYTHON_WITH_KERAS_2 keras_saved_models_answer.py compiled OUT       the SavedModels are evaluated
    PYTHON_WITH_TARGET keras_saved_models_answer.py TARGET OUT          the files of each target answer
    python keras_saved_models.py compare OUT                            adds to the record
    python keras_saved_models.py compare_traced OUT                     adds to that of subclassed models
    python keras_saved_models.py page                                   writes docs/evidence/keras.md

MODEL is `PATH=GROUP:NAME`: a SavedModel, and where it goes in the record. The outcome of a model is one of:
equal, refused (with the reason), does not load, or wrong. A model that was compiled is also evaluated: by the
Keras 2 that loads the SavedModel, and as the written file, which is loaded with the arguments of `compile`.
"""

import json
import re
import sys
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

import tfport
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trial_plan import TrialPlan
from tfport.fix.certify.verification import Verification
from tfport.fix.keras.named_as_keras import compared_form

INPUTS = 10
RTOL, ATOL = 1e-4, 1e-5
HALF_RTOL, HALF_ATOL = 2e-2, 2e-2
"""For models that compute in 16 bits: TensorFlow and the backends of Keras round sums differently."""
SIGNATURE = "serving_default"
RECORD = Path("tests/truth/keras_saved_models.json")
TRACED = Path("tests/truth/keras_traced.json")
PAGE = Path("docs/evidence/keras.md")
TORCH_RECORD, LARGEST = Path("tests/truth/torch_layout.json"), 1e-5


def write_graph(out: str, targets: str, *models: str) -> None:
    write(out, targets, *models, as_graph=True)


def write(out: str, targets: str, *models: str, as_graph: bool = False) -> None:
    """Rewrite each model, and write the inputs that the written files and the original are asked."""
    rows = []
    for number, argument in enumerate(models):
        path, _, label = argument.partition("=")
        group, _, name = label.partition(":")
        folder = Path(out, str(number))
        folder.mkdir(parents=True, exist_ok=True)
        row = {"model": path, "group": group, "name": name, "folder": str(folder), "files": {}}
        for target in targets.split(","):
            row["files"][target] = attempt(row, target, as_graph)
            print(row["files"][target]["outcome"], target, row["name"], flush=True)
            print("   ", row["files"][target].get("why", ""), row["files"][target].get("training", ""))
        rows.append(row)
        Path(out, "written.json").write_text(json.dumps(rows, indent=1))


def attempt(row, target: str, as_graph: bool) -> dict[str, object]:
    path, suffix = row["model"], ".keras" if target.startswith("keras==3") else ".h5"
    try:
        return written(row, target, Path(row["folder"], f"{target}{suffix}"), as_graph)
    except tfport.Error as error:
        return {"outcome": "refused", "why": plain(str(error), path)}
    except Exception:
        return {"outcome": "crash", "why": traceback.format_exc()[-800:]}


def written(row, target: str, file: Path, as_graph: bool) -> dict[str, object]:
    saved = tfport.load(row["model"])
    fixed = tfport.fix(saved, on=target, output=str(file), as_graph=as_graph)
    if not fixed.ok:
        return {"outcome": "refused", "why": plain("; ".join(fixed.remaining) or fixed.verdict, row["model"])}
    file.unlink(missing_ok=True)
    fixed._write(file)
    if "inputs" not in row:
        row |= asked(saved, fixed.model, file.parent)
    rules = {rule["name"]: rule["says"] for rule in fixed.to_json()["rules"]}
    training = next((name for name in ("new optimizer", "without training") if name in rules), "")
    return {
        "outcome": "written",
        "file": str(file),
        "training": {"new optimizer": "kept", "without training": "left out"}.get(training, ""),
        "why training is left out": rules.get("without training", ""),
    }


def asked(saved, keras, folder: Path) -> dict[str, object]:
    """Write the inputs; what the SavedModel and the files call them."""
    named = compared_form(saved, keras)
    signature = named.signatures[SIGNATURE]
    side = ModelSide(named, {SIGNATURE: signature})
    session = OwnSession(side, None)
    trials = []
    plan = TrialPlan(side, session.ask, [], Verification([SIGNATURE]), session.words())
    for trial, outcome in plan.trials():
        if outcome.outputs is not None and trial.finite and len(trials) < INPUTS:
            arrays = {str(n): as_stored(value) for n, value in enumerate(trial.inputs.values())}
            np.savez(folder / f"inputs-{len(trials)}.npz", **arrays)
            trials.append(list(trial.inputs))
    own = (saved if saved.signatures else named).signatures[SIGNATURE]
    return {
        "inputs": trials,
        "input_names": renamed(signature.inputs, own.inputs),
        "output_names": renamed(signature.outputs, own.outputs),
        "half": any(
            n.attr("T") is not None and str(n.attr("T")) in ("float16", "bfloat16") for n in nodes(saved)
        ),
    }


def nodes(saved):
    yield from saved.graph
    for function in saved.graph.library.functions.values():
        yield from function


def renamed(new, old) -> dict[str, str]:
    """The names in the Keras file with those of the SavedModel."""
    by_tensors = {spec.tensors: name for name, spec in old.items()}
    return {name: by_tensors[spec.tensors] for name, spec in new.items()}


def as_stored(value):
    array = np.asarray(value)
    return (
        np.array([bytes(item) for item in array.ravel()], "S").reshape(array.shape)
        if array.dtype == object
        else array
    )


def plain(text: str, path: str) -> str:
    return text.replace(f"{path}: ", "").replace(path, "MODEL")


def compare_traced(out: str) -> None:
    compare(out, TRACED)


def compare(out: str, record: Path = RECORD) -> None:
    """Compare the answers for each group and target, and add the outcomes to a record."""
    described = json.loads(Path(out, "written.json").read_text())
    stored = json.loads(record.read_text()) if record.exists() else {}
    for target in described[0]["files"]:
        facts = {kind: read_facts(Path(out, f"{kind}.json")) for kind in ("tensorflow", "compiled", target)}
        groups: dict[str, list[dict[str, object]]] = {}
        for row in described:
            file = row["files"][target]
            kept = {"model": row["name"], "outcome": file["outcome"], "why": file.get("why", "")}
            if file["outcome"] == "written":
                kept |= compared(row, target, facts) | {"compile": trained(row, target, facts)}
            groups.setdefault(row["group"], []).append(kept)
            if kept["outcome"] not in ("equal", "refused") or "differs" in kept.get("compile", ""):
                print(target, kept)
        for group, rows in groups.items():
            runtime = facts[target]["runtime"]
            key = f"{group} → {target.replace('==', ' ')}{' on jax' * runtime.endswith('jax')}"
            before = {row["model"]: row for row in stored.get(key, {}).get("models", ())}
            after = before | {row["model"]: row for row in rows}
            stored[key] = {
                "target": target,
                "original": facts["tensorflow"]["runtime"],
                "written": runtime,
                "models": [after[model] for model in sorted(after)],
            }
            print(
                key, Counter(row["outcome"] for row in rows), Counter(row.get("compile", "") for row in rows)
            )
    record.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def read_facts(path: Path):
    return json.loads(path.read_text()) if path.exists() else {"runtime": "", "problems": {}, "evaluated": {}}


def trained(row, target: str, facts) -> str:
    """What came of the arguments of compile."""
    file = row["files"][target]
    before, after = (facts[kind]["evaluated"].get(row["folder"]) for kind in ("compiled", target))
    if file["training"] != "kept":
        return file["training"]
    if not isinstance(after, dict):
        return f"differs: {after}"
    if not isinstance(before, dict):
        return "kept, loads"
    if set(before) != set(after):  # `mae` is `mean_absolute_error` in some releases
        before, after = (dict(enumerate(sorted(values.values()))) for values in (before, after))
    rtol = 0.05 if row["half"] else 1e-3
    same = set(before) == set(after) and all(
        np.allclose(value, after[name], rtol=rtol, atol=1e-4) for name, value in before.items()
    )
    return "kept, equal" if same else f"differs: {after} instead of {before}"


def compared(row, target: str, facts) -> dict[str, object]:
    problems = {kind: facts[kind]["problems"].get(row["folder"]) for kind in ("tensorflow", target)}
    if problems[target]:
        return {"outcome": "does not load", "why": problems[target]}
    if problems["tensorflow"]:
        return {"outcome": "no reference", "why": problems["tensorflow"]}
    rtol, atol = (HALF_RTOL, HALF_ATOL) if row["half"] else (RTOL, ATOL)
    largest = 0.0
    for number in range(len(row["inputs"])):
        with (
            np.load(Path(row["folder"], f"tensorflow-{number}.npz")) as expected,
            np.load(Path(row["folder"], f"{target}-{number}.npz")) as answers,
        ):
            if sorted(expected.files) != sorted(answers.files):
                return {"outcome": "wrong", "why": f"outputs {answers.files} instead of {expected.files}"}
            for name in expected.files:
                a, b = answers[name], expected[name]
                if a.shape != b.shape:
                    return {"outcome": "wrong", "why": f"{name}: shape {a.shape} instead of {b.shape}"}
                if b.dtype.kind in "SUO" or b.dtype.kind in "iub":
                    if not np.array_equal(a, b):
                        return {"outcome": "wrong", "why": f"{name}: other values"}
                    continue
                a, b = a.astype("float64"), b.astype("float64")
                gap = np.nan_to_num(np.abs(a - b))
                largest = max(largest, float(gap.max(initial=0.0)))
                if not np.allclose(
                    a, b, rtol=rtol, atol=atol * max(1.0, float(np.abs(b).max(initial=0))), equal_nan=True
                ):
                    return {"outcome": "wrong", "why": f"{name}: differs by up to {gap.max():.3g}"}
    return {"outcome": "equal", "inputs": len(row["inputs"]), "largest": float(f"{largest:.2g}")}


INTRODUCTION = """# Keras SavedModels as Keras files

The files that `tfport fix SAVED_MODEL --for RELEASE -o model.keras` (or `model.h5`) writes, loaded by the
real release and run on ten inputs each (fewer if a model takes fewer). Real TensorFlow answers for the
original. *equal*: within 1e-4 relative, exact for integers and strings (0.02 for models that compute in 16
bits). *refused*: `fix` says why and writes nothing. `tools/truth/keras_saved_models.py` makes this page;
`tests/truth/keras_saved_models.json` has every row.

*compile*: files with the arguments of `compile`, loaded with them and evaluated by the release. *equal*: the
loss and the metrics equal those that Keras 2.15 gives for the SavedModel (within 0.1%). *loads*: only the
file was evaluated. *not evaluated*: the labels that were tried did not fit, or the file has been corrected
since and was not tried again. *left out*: the model is compiled but its file is not. Those that *differ*
have the same loss, which TensorFlow 2.3 computes differently: later releases use the values before the last
layer's sigmoid, even for a sparse cross entropy.

The public models come from public repositories that have a `keras_metadata.pb`. They were taken without
looking inside, at most three per repository; models with files of several megabytes could not be obtained,
and four were left out: one because it is slow to answer, and three that were not tried. Of these, 19 from
different repositories were written as `.h5` and answered by Keras 3 on TensorFlow: two that had failed, and
others drawn at random. The other public models came later: those from 24 repositories drawn at random, of
which eleven had all their files (one of them damaged: TensorFlow does not load it either), and the 15 Keras
SavedModels in packages of `tools/real_models.py`, eleven of which have their own classes or code. The
remaining models were made for this page by the release: layers of the usual families, nested and shared
models, vocabularies, mixed precision, operators on tensors.

| SavedModels → target | answered by | models | equal | refused | does not load | wrong | compile |
|---|---|---|---|---|---|---|---|
"""

TORCH_INTRODUCTION = """
## Weights in PyTorch

The weights that `tfport export MODEL -o weights.safetensors --layout torch` writes, loaded into real PyTorch
modules: the largest difference between their answer and Keras's. Exported Keras 3 SavedModels have no
layers, so the ops that read a weight decide its layout, and GRU gates and attention heads stay unchanged.
`tools/truth/torch_layout.py` makes the comparison; `tests/truth/torch_layout.json` has the numbers.

"""


TRACED_INTRODUCTION = """
## Subclassed models, custom layers and graphs

Models whose layers are not in their configuration, written from their traced calls, or with `--as-graph`
from the graph; answered and compared as above. `tools/truth/keras_subclassed_make.py` has the models that
were made for this page: subclassed models of the usual kinds, custom layers with and without weights of
their own, and one that draws random numbers, which must be refused. The public models are those with such
layers in the pip packages that tfport is tried on, and in repositories drawn at random; the folders of
pyoxynet have their `variables` in the wrong place, which was corrected.
`tests/truth/keras_traced.json` has every row.

| SavedModels → target | answered by | models | equal | refused | does not load | wrong | compile |
|---|---|---|---|---|---|---|---|
"""


def page() -> None:
    """Write the page with the counts and the reasons."""
    lines, listed = tables(RECORD)
    traced, refused = tables(TRACED)
    reasons = "\n\n| what was not equal | models |\n|---|---|\n"
    PAGE.write_text(
        f"{INTRODUCTION}{lines}{reasons}{listed}\n{TRACED_INTRODUCTION}{traced}{reasons}{refused}\n"
        f"{TORCH_INTRODUCTION}{torch_table()}\n"
    )


def tables(path: Path) -> tuple[str, str]:
    """The rows of counts, and those of reasons."""
    record = json.loads(path.read_text())
    lines, reasons = [], Counter()
    for key, part in record.items():
        outcomes = Counter(row["outcome"] for row in part["models"])
        counts = [outcomes[name] for name in ("equal", "refused", "does not load", "wrong")]
        cells = [len(part["models"]), *counts, compiled(part["models"])]
        lines.append(f"| {key} | {part['written']} | {' | '.join(map(str, cells))} |")
        for row in part["models"]:
            if row["outcome"] != "equal":
                why = last_reason(row["why"]) if path == TRACED else row["why"]
                reasons[f"{row['outcome']}: {short(why)}"] += 1
    return "\n".join(lines), "\n".join(f"| {why} | {count} |" for why, count in reasons.most_common())


def last_reason(why: str) -> str:
    """Why the graph of a model is no Keras model, without what its configuration lacks and what to do."""
    parts = why.split("; ")
    return next((p for p in reversed(parts) if not re.search("--as-graph|declare it|save it as", p)), why)


def compiled(rows) -> str:
    """What came of the arguments of compile, in a few words."""
    found = Counter(
        row["compile"].partition(":")[0].removeprefix("kept, ") for row in rows if row.get("compile")
    )
    return ", ".join(f"{count} {outcome}" for outcome, count in found.most_common())


def torch_table() -> str:
    record = json.loads(TORCH_RECORD.read_text())
    layers = list(dict.fromkeys(layer for row in record.values() for layer in row["differences"]))
    lines = [f"| layer, in PyTorch {next(iter(record.values()))['torch']} | {' | '.join(record)} |"]
    lines.append(f"|{'---|' * (len(record) + 1)}")
    for layer in layers:
        differences = [row["differences"].get(layer, "") for row in record.values()]
        cells = [f"{d:.1g}" if isinstance(d, float) and d < LARGEST else "unchanged" for d in differences]
        lines.append(f"| {layer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def short(why: str) -> str:
    """The first sentence of a reason, without what differs from model to model."""
    text = re.sub(r"`[^`]*`", "…", why.partition("\n")[0])
    return re.sub(r" \(and \d+ more\)", "", text).replace("|", " ").partition(";")[0][:160]


if __name__ == "__main__":
    {
        "write": write,
        "write_graph": write_graph,
        "compare": compare,
        "compare_traced": compare_traced,
        "page": page,
    }[sys.argv[1]](*sys.argv[2:])
