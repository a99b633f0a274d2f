"""Prove what `tfport fix` makes of Keras SavedModels: real TensorFlow and real Keras answer, file by file.

    PYTHON_WITH_TENSORFLOW tools/truth/keras_subclassed_make.py OUT            makes subclassed models
    python tools/truth/keras_saved_models.py write TARGET SUFFIX OUT MODEL…    files and ten inputs, OUT/0/…
    python tools/truth/keras_saved_models.py write_graph …                     the same with `--as-graph`
    PYTHON_WITH_TENSORFLOW tools/truth/keras_saved_models_answer.py tensorflow OUT    the SavedModels answer
    PYTHON_WITH_KERAS tools/truth/keras_saved_models_answer.py keras OUT              the files answer
    python tools/truth/keras_saved_models.py compare OUT KEY                   adds to the record, as KEY
    python tools/truth/keras_saved_models.py compare_traced OUT KEY            to that of subclassed models
    python tools/truth/keras_saved_models.py page                              writes docs/evidence/keras.md

MODEL is a SavedModel; a name for it in the record can follow `=`. The outcome of a model is one of: equal,
refused (with the reason), does not load, or wrong.
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


def write_graph(target: str, suffix: str, out: str, *models: str) -> None:
    write(target, suffix, out, *models, as_graph=True)


def write(target: str, suffix: str, out: str, *models: str, as_graph: bool = False) -> None:
    """Rewrite each model, and write the inputs that the written file and the original are asked."""
    rows = []
    for number, argument in enumerate(models):
        path, _, name = argument.partition("=")
        folder = Path(out, str(number))
        folder.mkdir(parents=True, exist_ok=True)
        row: dict[str, object] = {"model": path, "name": name or path, "folder": str(folder)}
        try:
            row |= written(path, target, folder / f"model{suffix}", as_graph)
        except tfport.Error as error:
            row |= {"outcome": "refused", "why": plain(str(error), path)}
        except Exception:
            row |= {"outcome": "crash", "why": traceback.format_exc()[-800:]}
        rows.append(row)
        print(row["outcome"], row["name"], row.get("why", ""), flush=True)
    Path(out, "written.json").write_text(json.dumps({"target": target, "rows": rows}, indent=1))


def written(path: str, target: str, file: Path, as_graph: bool) -> dict[str, object]:
    saved = tfport.load(path)
    fixed = tfport.fix(saved, on=target, output=str(file), as_graph=as_graph)
    if not fixed.ok:
        return {"outcome": "refused", "why": plain("; ".join(fixed.remaining) or fixed.verdict, path)}
    file.unlink(missing_ok=True)
    fixed._write(file)
    named = compared_form(saved, fixed.model)
    signature = named.signatures[SIGNATURE]
    side = ModelSide(named, {SIGNATURE: signature})
    session = OwnSession(side, None)
    asked = []
    plan = TrialPlan(side, session.ask, [], Verification([SIGNATURE]), session.words())
    for trial, outcome in plan.trials():
        if outcome.outputs is not None and trial.finite and len(asked) < INPUTS:
            arrays = {str(n): as_stored(value) for n, value in enumerate(trial.inputs.values())}
            np.savez(file.parent / f"inputs-{len(asked)}.npz", **arrays)
            asked.append(list(trial.inputs))
    own = (saved if saved.signatures else named).signatures[SIGNATURE]
    return {
        "outcome": "written",
        "file": str(file),
        "inputs": asked,
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


def compare_traced(out: str, key: str) -> None:
    compare(out, key, TRACED)


def compare(out: str, key: str, record: Path = RECORD) -> None:
    """Compare the answers, and add the outcomes to a record."""
    described = json.loads(Path(out, "written.json").read_text())
    facts = {kind: json.loads(Path(out, f"{kind}.json").read_text()) for kind in ("tensorflow", "keras")}
    rows = []
    for row in described["rows"]:
        kept = {"model": row["name"], "outcome": row["outcome"], "why": row.get("why", "")}
        if row["outcome"] == "written":
            kept |= compared(row, facts)
        rows.append(kept)
        if kept["outcome"] not in ("equal", "refused"):
            print(kept)
    stored = json.loads(record.read_text()) if record.exists() else {}
    stored[key] = {
        "target": described["target"],
        "original": facts["tensorflow"]["runtime"],
        "written": facts["keras"]["runtime"],
        "models": rows,
    }
    record.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    print(key, Counter(row["outcome"] for row in rows))


def compared(row, facts) -> dict[str, object]:
    problems = {kind: facts[kind]["problems"].get(row["folder"]) for kind in facts}
    if problems["keras"]:
        return {"outcome": "does not load", "why": problems["keras"]}
    if problems["tensorflow"]:
        return {"outcome": "no reference", "why": problems["tensorflow"]}
    rtol, atol = (HALF_RTOL, HALF_ATOL) if row["half"] else (RTOL, ATOL)
    largest = 0.0
    for number in range(len(row["inputs"])):
        with (
            np.load(Path(row["folder"], f"tensorflow-{number}.npz")) as expected,
            np.load(Path(row["folder"], f"keras-{number}.npz")) as answers,
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

What `tfport fix SAVED_MODEL --for RELEASE -o model.keras` (or `model.h5`) writes, loaded by the real release,
on ten inputs each (fewer where a model takes fewer). Real TensorFlow answers for the original.
*equal*: within 1e-4 relative, exact for integers and strings (0.02 for models that compute in 16 bits).
*refused*: `fix` says why and writes nothing. `tools/truth/keras_saved_models.py` makes this page;
`tests/truth/keras_saved_models.json` has every row.

The public models are in public repositories that have a `keras_metadata.pb`, taken without a look at what is
inside, at most three of a repository; those with files of several megabytes could not be had, and four were
left out: one as it is slow to answer, three that were not tried.
The others were made for this page by the release: layers of the usual
families, nested and shared models, vocabularies, mixed precision.

| SavedModels → target | answered by | models | equal | refused | does not load | wrong |
|---|---|---|---|---|---|---|
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

| SavedModels → target | answered by | models | equal | refused | does not load | wrong |
|---|---|---|---|---|---|---|
"""


def page() -> None:
    """Write the page with the counts and the reasons."""
    lines, listed = tables(RECORD)
    traced, refused = tables(TRACED)
    reasons = "\n\n| what was not equal | models |\n|---|---|\n"
    PAGE.write_text(
        f"{INTRODUCTION}{lines}{reasons}{listed}\n{TRACED_INTRODUCTION}{traced}{reasons}{refused}\n"
    )


def tables(path: Path) -> tuple[str, str]:
    """The rows of counts, and those of reasons."""
    record = json.loads(path.read_text())
    lines, reasons = [], Counter()
    for key, part in record.items():
        outcomes = Counter(row["outcome"] for row in part["models"])
        counts = [outcomes[name] for name in ("equal", "refused", "does not load", "wrong")]
        lines.append(
            f"| {key} | {part['written']} | {' | '.join(map(str, [len(part['models']), *counts]))} |"
        )
        for row in part["models"]:
            if row["outcome"] != "equal":
                why = last_reason(row["why"]) if path == TRACED else row["why"]
                reasons[f"{row['outcome']}: {short(why)}"] += 1
    return "\n".join(lines), "\n".join(f"| {why} | {count} |" for why, count in reasons.most_common())


def last_reason(why: str) -> str:
    """Why the graph of a model is no Keras model, without what its configuration lacks and what to do."""
    parts = why.split("; ")
    return next((p for p in reversed(parts) if not re.search("--as-graph|declare it|save it as", p)), why)


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
