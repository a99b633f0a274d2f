"""Prove the layout of `tfport export --layout torch`: modules of the real PyTorch answer with its arrays.

    PYTHON_WITH_KERAS tools/truth/torch_layout.py save OUT       a model of each layer, and what it answers
    python tools/truth/torch_layout.py export OUT                its weights, by tfport
    PYTHON_WITH_TORCH tools/truth/torch_layout.py compare OUT    adds to tests/truth/torch_layout.json

`keras_saved_models.py page` writes the record into docs/evidence/keras.md. Keras 2 saves HDF5 files and
SavedModels, Keras 3 archives and exported SavedModels, which have no layers: there the ops decide.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
RECORD = Path("tests/truth/torch_layout.json")
SHAPES = {
    "Dense": (5,), "Dense of sequences": (6, 5), "Conv1D": (9, 3), "Conv2D": (9, 8, 3),
    "Conv2D groups": (9, 8, 4), "Conv3D": (6, 5, 7, 3), "DepthwiseConv1D": (9, 3),
    "DepthwiseConv2D": (9, 8, 3), "SeparableConv2D": (9, 8, 3), "Conv1DTranspose": (9, 3),
    "Conv2DTranspose": (5, 4, 3), "Conv3DTranspose": (4, 3, 5, 2), "Embedding": (6,),
    "BatchNormalization": (7, 6, 3), "LayerNormalization": (6, 5), "SimpleRNN": (6, 5), "LSTM": (6, 5),
    "GRU": (6, 5), "GRU without bias": (6, 5), "Bidirectional LSTM": (6, 5), "Bidirectional GRU": (6, 5),
    "MultiHeadAttention": (6, 8),
}  # fmt: skip
"""The shape of an example for the model of each layer."""


def layer(name, k):
    """The layer of a case, of Keras 2 or 3."""
    layers = k.layers
    forward = {"LSTM": layers.LSTM, "GRU": layers.GRU}
    if name.startswith("Bidirectional"):
        return layers.Bidirectional(forward[name.split()[1]](4, return_sequences=True))
    return {
        "Dense": lambda: layers.Dense(4),
        "Dense of sequences": lambda: layers.Dense(4),
        "Conv1D": lambda: layers.Conv1D(4, 3, strides=2),
        "Conv2D": lambda: layers.Conv2D(4, (3, 2), strides=2),
        "Conv2D groups": lambda: layers.Conv2D(6, 3, groups=2),
        "Conv3D": lambda: layers.Conv3D(4, (3, 2, 2)),
        "DepthwiseConv1D": lambda: layers.DepthwiseConv1D(3, depth_multiplier=2),
        "DepthwiseConv2D": lambda: layers.DepthwiseConv2D((3, 2), depth_multiplier=2),
        "SeparableConv2D": lambda: layers.SeparableConv2D(5, 3, depth_multiplier=2),
        "Conv1DTranspose": lambda: layers.Conv1DTranspose(4, 3, strides=2),
        "Conv2DTranspose": lambda: layers.Conv2DTranspose(4, (3, 2), strides=2),
        "Conv3DTranspose": lambda: layers.Conv3DTranspose(4, (3, 2, 3)),
        "Embedding": lambda: layers.Embedding(11, 4),
        "BatchNormalization": lambda: layers.BatchNormalization(),
        "LayerNormalization": lambda: layers.LayerNormalization(),
        "SimpleRNN": lambda: layers.SimpleRNN(4, return_sequences=True),
        "LSTM": lambda: layers.LSTM(4, return_sequences=True),
        "GRU": lambda: layers.GRU(4, return_sequences=True),
        "GRU without bias": lambda: layers.GRU(4, return_sequences=True, use_bias=False),
        "MultiHeadAttention": lambda: layers.MultiHeadAttention(2, 4),
    }[name]()


def save(out):
    try:
        import keras as k
    except ImportError:
        import tensorflow.keras as k
    three = k.__version__.startswith("3")
    random = np.random.RandomState(7)
    for name, shape in SHAPES.items():
        k.backend.clear_session()
        x = k.Input(shape, name="x", dtype="int32" if name == "Embedding" else "float32")
        y = layer(name, k)(*[x] * (2 if name == "MultiHeadAttention" else 1))
        model = k.Model(x, y)
        model.set_weights([random.uniform(0.1, 0.9, a.shape) for a in model.get_weights()])
        asked = random.randint(0, 11, (2, *shape)) if name == "Embedding" else random.normal(size=(2, *shape))
        asked = asked.astype(x.dtype if isinstance(x.dtype, str) else x.dtype.name)
        folder = Path(out, name.replace(" ", "_"))
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "asked.npz", x=asked, y=np.asarray(model(asked, training=False)))
        if three:
            model.save(folder / "archive.keras")
            model.export(folder / "exported", verbose=False)
        else:
            model.save(str(folder / "hdf5.h5"))
            model.save(str(folder / "saved_model"), save_format="tf")
    Path(out, "keras.txt").write_text(f"keras {k.__version__}")


def export(out):
    import tfport
    from tfport.fix.weights_file import write_weights

    for path in sorted(Path(out).glob("*/*")):
        if path.suffix in (".h5", ".keras") or path.is_dir():
            weights = path.parent / f"{path.stem}.safetensors"
            weights.unlink(missing_ok=True)
            write_weights(tfport.load(str(path)), weights, "torch")


def compare(out):
    import torch
    from safetensors.torch import load_file

    rows = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    release = Path(out, "keras.txt").read_text()
    for path in sorted(Path(out).glob("*/*.safetensors")):
        name = path.parent.name.replace("_", " ")
        with np.load(path.parent / "asked.npz") as stored:
            asked, expected = stored["x"], stored["y"]
        try:
            with torch.no_grad():
                found = answer(name, Arrays(load_file(path)), torch.from_numpy(asked)).numpy()
            if found.shape != expected.shape:
                raise ValueError(f"{found.shape} instead of {expected.shape}")
            outcome = float(f"{np.abs(found - expected).max():.2g}")
        except (RuntimeError, TypeError, ValueError) as error:  # another shape
            outcome = str(error).splitlines()[-1].strip()
        key = f"{release}, {path.stem.replace('_', ' ')}"
        row = rows.setdefault(key, {"torch": torch.__version__, "differences": {}})
        row["differences"][name] = outcome
    RECORD.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    for key, row in rows.items():
        print(
            key,
            {n: v for n, v in row["differences"].items() if isinstance(v, str) or v > 1e-5} or "all equal",
        )


class Arrays(dict):
    """The arrays of a file by words of their names."""

    def weight(self, kind, *words):
        names = [
            n for n in self if n.rpartition("/")[2].split("_1")[0] == kind and all(w in n for w in words)
        ]
        return self[names[0]] if names else None


def answer(name, arrays, x):
    """What the module of PyTorch answers; Keras has the channels last."""
    import torch
    from torch import nn

    F, kind = nn.functional, name.split()[0]
    kernel, bias = arrays.weight("kernel"), arrays.weight("bias")
    channels_first = lambda t: t.movedim(-1, 1)  # noqa: E731
    last = lambda t: t.movedim(1, -1)  # noqa: E731
    if kind == "Dense":
        return loaded(nn.Linear(5, 4), weight=kernel, bias=bias)(x)
    if kind in ("Conv1D", "Conv2D", "Conv3D"):
        module = {
            "Conv1D": lambda: nn.Conv1d(3, 4, 3, stride=2),
            "Conv2D": lambda: nn.Conv2d(3, 4, (3, 2), stride=2),
            "Conv2D groups": lambda: nn.Conv2d(4, 6, 3, groups=2),
            "Conv3D": lambda: nn.Conv3d(3, 4, (3, 2, 2)),
        }[name]()
        return last(loaded(module, weight=kernel, bias=bias)(channels_first(x)))
    if kind.startswith(("Depthwise", "Separable")):
        depthwise = arrays.weight("depthwise_kernel")
        depthwise = kernel if depthwise is None else depthwise
        convolve = F.conv1d if kind.endswith("1D") else F.conv2d
        if kind.startswith("Depthwise"):
            return last(convolve(channels_first(x), depthwise, bias, groups=3))
        middle = convolve(channels_first(x), depthwise, groups=3)
        return last(convolve(middle, arrays.weight("pointwise_kernel"), bias))
    if kind.endswith("Transpose"):
        module = {
            "Conv1DTranspose": lambda: nn.ConvTranspose1d(3, 4, 3, stride=2),
            "Conv2DTranspose": lambda: nn.ConvTranspose2d(3, 4, (3, 2), stride=2),
            "Conv3DTranspose": lambda: nn.ConvTranspose3d(2, 4, (3, 2, 3)),
        }[name]()
        return last(loaded(module, weight=kernel, bias=bias)(channels_first(x)))
    if kind == "Embedding":
        return loaded(nn.Embedding(11, 4), weight=arrays.weight("embeddings"))(x)
    if kind == "BatchNormalization":
        module = nn.BatchNorm2d(3, eps=1e-3).eval()
        state = {
            "weight": "gamma",
            "bias": "beta",
            "running_mean": "moving_mean",
            "running_var": "moving_variance",
        }
        arrays = {new: arrays.weight(old) for new, old in state.items()}
        return last(loaded(module, num_batches_tracked=torch.tensor(0), **arrays)(channels_first(x)))
    if kind == "LayerNormalization":
        module = nn.LayerNorm(5, eps=1e-3)
        return loaded(module, weight=arrays.weight("gamma"), bias=arrays.weight("beta"))(x)
    if kind == "MultiHeadAttention":
        return attention(arrays, x)
    ways = {"": ("",)} if kind != "Bidirectional" else {"": ("forward",), "_reverse": ("backward",)}
    cell = name.split()[-1] if kind == "Bidirectional" else kind
    module = {"LSTM": nn.LSTM, "GRU": nn.GRU, "SimpleRNN": nn.RNN}[cell](
        5, 4, batch_first=True, bidirectional=kind == "Bidirectional"
    )
    state = {}
    for suffix, words in ways.items():
        state |= recurrent(arrays, words, suffix)
    return loaded(module, **state)(x)[0]


def recurrent(arrays, words, suffix):
    """The weights of one direction: a GRU has two rows of biases, the others have one for both."""
    import torch

    bias = arrays.weight("bias", *words)
    hidden = arrays.weight("recurrent_kernel", *words)
    if bias is None:
        bias = torch.zeros(len(hidden))
    of_input, of_state = bias if bias.ndim == 2 else (bias, torch.zeros_like(bias))
    return {
        f"weight_ih_l0{suffix}": arrays.weight("kernel", *words),
        f"weight_hh_l0{suffix}": hidden,
        f"bias_ih_l0{suffix}": of_input,
        f"bias_hh_l0{suffix}": of_state,
    }


def attention(arrays, x):
    import torch
    from torch import nn

    parts = ("query", "key", "value")
    output = "output"
    state = {
        "in_proj_weight": torch.cat([arrays.weight("kernel", f"/{part}") for part in parts]),
        "in_proj_bias": torch.cat([arrays.weight("bias", f"/{part}") for part in parts]),
        "out_proj.weight": arrays.weight("kernel", output),
        "out_proj.bias": arrays.weight("bias", output),
    }
    return loaded(nn.MultiheadAttention(8, 2, batch_first=True), **state)(x, x, x)[0]


def loaded(module, **state):
    module.load_state_dict(state)
    return module


if __name__ == "__main__":
    {"save": save, "export": export, "compare": compare}[sys.argv[1]](sys.argv[2])
