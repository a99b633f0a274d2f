"""Train small decision forests and record what the ops of TensorFlow Decision Forests answer.

    python3.11 -m venv /tmp/tfdf
    /tmp/tfdf/bin/pip install tensorflow-cpu==2.18.1 tf_keras==2.18.0 ydf==0.10.0 pandas wurlitzer
    /tmp/tfdf/bin/pip install --no-deps tensorflow_decision_forests==1.11.0
    TF_USE_LEGACY_KERAS=1 /tmp/tfdf/bin/python tests/live/record_forests.py

Writes `tests/expected/forests.npz`: for each forest its files, the inputs of the op, predictions, leaves and
the names of the outputs. Inputs have missing and unknown values; the op sees twelve rows.
"""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_decision_forests as tfdf
import ydf
from tensorflow_decision_forests.tensorflow.ops.inference import op
from yggdrasil_decision_forests.dataset import data_spec_pb2
from yggdrasil_decision_forests.model import abstract_model_pb2

OUT = Path(__file__).parents[1] / "expected" / "forests.npz"
ROWS, TRAINED = 12, 600
BANKS = (
    "numerical_features", "boolean_features", "categorical_int_features",
    "categorical_set_int_features_values", "categorical_set_int_features_row_splits_dim_1",
    "categorical_set_int_features_row_splits_dim_2",
)  # fmt: skip
TYPES = data_spec_pb2.ColumnType
WORDS = np.array(["good", "bad", "fine", "poor", "film", "plot", "actor", "scene"])
NUMBERS = ["a", "b"]
MIXED = ["a", "b", "flag", "color", "many"]
WITHOUT_BOOLEANS = ["a", "b", "color", "many"]
"""Uplift forests cannot be trained with booleans."""


def training_data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=TRAINED), rng.uniform(-5, 5, TRAINED)
    flag, color = rng.random(TRAINED) < 0.6, rng.choice(["red", "green", "blue", "black"], TRAINED)
    many = rng.choice([f"v{k}" for k in range(50)], TRAINED)
    words = [list(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(TRAINED)]
    treatment = rng.integers(0, 2, TRAINED)
    score = 2 * a + b**2 / 8 + flag * (color == "red") + (many < "v3") + 2 * treatment * (a > 0)
    score += np.array([("good" in text) - ("bad" in text) for text in words])
    holes = rng.random((2, TRAINED)) < 0.15
    return {
        "a": np.where(holes[0], np.nan, a), "b": np.where(holes[1], np.nan, b), "flag": flag,
        "color": color, "many": many, "words": np.array(words, object), "treatment": treatment.astype(str),
        "two": (score > np.median(score)).astype(int),
        "three": np.digitize(score, np.quantile(score, [0.3, 0.7])),
        "value": score, "count": rng.poisson(np.exp(np.clip(score / 3, -3, 3))),
        "relevance": np.clip(np.round(score - score.min()), 0, 4), "group": np.arange(TRAINED) // 10,
    }  # fmt: skip


def learners() -> dict[str, tuple[object, list[str]]]:
    """Each forest and the columns that it is trained on."""
    forest, boosted, cart = ydf.RandomForestLearner, ydf.GradientBoostedTreesLearner, ydf.CartLearner
    regression, ranking = {"task": ydf.Task.REGRESSION}, {"task": ydf.Task.RANKING, "ranking_group": "group"}
    few, some = {"num_trees": 5, "max_depth": 5}, {"num_trees": 8, "max_depth": 4}
    uplift = {"uplift_treatment": "treatment", "num_trees": 4, "max_depth": 4}
    oblique = {"split_axis": "SPARSE_OBLIQUE"}
    missing = "missing_value_policy"
    sets = [ydf.Feature("words", ydf.Semantic.CATEGORICAL_SET, min_vocab_frequency=1), "a"]
    return {
        "votes": (forest(label="two", **few), [*MIXED, "two"]),
        "shares": (forest(label="two", winner_take_all=False, **few), [*MIXED, "two"]),
        "three_votes": (forest(label="three", **few), [*MIXED, "three"]),
        "three_shares": (forest(label="three", winner_take_all=False, **few), [*MIXED, "three"]),
        "regression": (forest(label="value", **regression, **few), [*MIXED, "value"]),
        "cart": (cart(label="two"), [*MIXED, "two"]),
        "cart_regression": (cart(label="value", **regression), [*MIXED, "value"]),
        "boosted": (boosted(label="two", **some), [*MIXED, "two"]),
        "boosted_three": (boosted(label="three", **some), [*MIXED, "three"]),
        "boosted_regression": (boosted(label="value", **regression, **some), [*MIXED, "value"]),
        "focal": (boosted(label="two", loss="BINARY_FOCAL_LOSS", **some), [*MIXED, "two"]),
        "poisson": (boosted(label="count", loss="POISSON", **regression, **some), [*MIXED, "count"]),
        "absolute": (
            boosted(label="value", loss="MEAN_AVERAGE_ERROR", **regression, **some),
            [*MIXED, "value"],
        ),
        "logit": (boosted(label="two", apply_link_function=False, **some), [*MIXED, "two"]),
        "logits": (boosted(label="three", apply_link_function=False, **some), [*MIXED, "three"]),
        "ranking": (boosted(label="relevance", **ranking, **some), [*MIXED, "group", "relevance"]),
        "ranking_entropy": (
            boosted(label="relevance", loss="XE_NDCG_MART", **ranking, **some),
            [*MIXED, "group", "relevance"],
        ),
        "effect": (
            forest(label="two", task=ydf.Task.CATEGORICAL_UPLIFT, **uplift),
            [*WITHOUT_BOOLEANS, "two", "treatment"],
        ),
        "effect_of_number": (
            forest(label="value", task=ydf.Task.NUMERICAL_UPLIFT, **uplift),
            [*WITHOUT_BOOLEANS, "value", "treatment"],
        ),
        "isolation": (ydf.IsolationForestLearner(num_trees=6), NUMBERS),
        "oblique": (boosted(label="two", **oblique, **some), [*MIXED, "two"]),
        "oblique_shares": (forest(label="three", winner_take_all=False, **oblique, **few), [*MIXED, "three"]),
        "local": (boosted(label="two", **{missing: "LOCAL_IMPUTATION"}, **some), [*MIXED, "two"]),
        "random_local": (forest(label="two", **{missing: "RANDOM_LOCAL_IMPUTATION"}, **few), [*MIXED, "two"]),
        "asks_missing": (boosted(label="two", allow_na_conditions=True, **some), [*MIXED, "two"]),
        "discretized": (boosted(label="two", discretize_numerical_columns=True, **some), [*MIXED, "two"]),
        "deep": (
            boosted(label="value", num_trees=3, growing_strategy="BEST_FIRST_GLOBAL", max_num_nodes=150,
                    **regression), [*MIXED, "value"],
        ),
        "sets": (forest(label="two", features=sets, **few), ["words", "a", "two"]),
        "boosted_sets": (boosted(label="two", features=sets, **some), ["words", "a", "two"]),
    }  # fmt: skip


def inputs(folder: Path) -> list[np.ndarray]:
    """The inputs of the op, in the order of the model's features."""
    spec = data_spec_pb2.DataSpecification.FromString((folder / "data_spec.pb").read_bytes())
    header = abstract_model_pb2.AbstractModel.FromString((folder / "header.pb").read_bytes())
    rng = np.random.default_rng(11)
    numbers, booleans, categories, sets = [], [], [], []
    for column in (spec.columns[index] for index in header.input_features):
        known = column.categorical.number_of_unique_values
        if column.type in (TYPES.NUMERICAL, TYPES.DISCRETIZED_NUMERICAL):
            values = (column.numerical.mean + 2 * rng.normal(size=ROWS)).astype(np.float32)
            values[[0, 3]], values[1], values[2] = np.nan, np.inf, -np.inf
            numbers.append(values)
        elif column.type == TYPES.BOOLEAN:
            booleans.append(rng.choice([0, 1, 0.3, 0.7, np.nan], ROWS).astype(np.float32))
        elif column.type == TYPES.CATEGORICAL:
            categories.append(rng.integers(-2, known + 2, ROWS).astype(np.int32))
        else:
            sets.append(known)
    items = [
        []
        if row == 0
        else [-1]
        if row == 1
        else sorted(rng.integers(0, known + 2, rng.integers(1, 5)).tolist())
        for row in range(ROWS)
        for known in sets
    ]
    inner = np.cumsum([0, *map(len, items)]) if sets else np.zeros(0)
    outer = np.arange(ROWS + 1) * len(sets) if sets else np.zeros(0)
    return [
        np.stack(numbers, 1) if numbers else np.zeros((0, 0), np.float32),
        np.stack(booleans, 1) if booleans else np.zeros((0, 0), np.float32),
        np.stack(categories, 1) if categories else np.zeros((0, 0), np.int32),
        np.array([item for row in items for item in row], np.int32),
        inner.astype(np.int64),
        outer.astype(np.int64),
    ]  # fmt: skip


def answers(folder: Path, banks: list[np.ndarray], outputs: int) -> dict[str, np.ndarray]:
    """What the ops answer. Each forest has a session, as a kernel keeps the first forest that it sees."""
    found = {}
    for leaves in (False, True):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            handle = op.SimpleMLCreateModelResource()
            session.run(
                op.SimpleMLLoadModelFromPathWithHandle(
                    model_handle=handle, path=f"{folder}/", output_types=["LEAVES"] if leaves else []
                )
            )
            fed = [tf.compat.v1.placeholder(tf.as_dtype(bank.dtype)) for bank in banks]
            given, feeds = dict(zip(BANKS, fed, strict=True)), dict(zip(fed, banks, strict=True))
            if leaves:
                node = op.SimpleMLInferenceLeafIndexOpWithHandle(**given, model_handle=handle)
                found["leaves"] = session.run(node, feeds)
            else:
                node = op.SimpleMLInferenceOpWithHandle(
                    **given, model_handle=handle, dense_output_dim=outputs
                )
                predictions, names = session.run(list(node), feeds)
                found |= {"predictions": predictions, "names": names.astype(bytes)}
    return found


def main() -> None:
    data, recorded = training_data(), {"versions": f"{tf.__version__} {tfdf.__version__} {ydf.__version__}"}
    for name, (learner, columns) in learners().items():
        try:
            model = learner.train({key: data[key] for key in columns}, verbose=0)
        except ValueError as error:
            print(f"{name}: {str(error)[:300]}")
            continue
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "forest"
            model.save(str(folder), pure_serving=True)
            banks = inputs(folder)
            outputs = 1
            if name != "logit" and model.task() == ydf.Task.CLASSIFICATION:
                outputs = len(model.label_classes())
            try:
                found = answers(folder, banks, outputs)
            except tf.errors.OpError as error:
                print(f"{name}: {str(error)[:300]}")
                found = {}
            for file in folder.iterdir():
                recorded[f"{name}/files/{file.name}"] = np.frombuffer(file.read_bytes(), np.uint8)
        recorded |= {f"{name}/inputs/{i}": bank for i, bank in enumerate(banks)}
        recorded |= {f"{name}/{key}": value for key, value in found.items()}
    np.savez_compressed(OUT, **recorded)


if __name__ == "__main__":
    main()
