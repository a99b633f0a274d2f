"""Ask one TensorFlow Lite interpreter what it registers; runs in the Python that its wheel is for.

    python tools/atlas/lite_probe.py WRAPPER.so      prints JSON

Needs only NumPy (the interpreter's wrapper uses it) and the standard library since Python 3.6. A question is
a model of one operator code and an empty subgraph: the interpreter resolves the table of operator codes
before anything else. A custom op is resolved later, when tensors are allocated, and may crash then: such
questions run in processes of their own.
"""

import importlib.machinery
import importlib.util
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lite_models import (
    CODES,
    CUSTOM,
    XNNPACK_CUSTOM,
    add_model,
    custom_model,
    flex_model,
    opcode_model,
    schema_model,
    type_model,
    xnnpack_model,
)

BUILTIN = 1
"""The number of the default op resolver."""
LISTS = ("List", "list", "object")
VERSIONS = range(1, 33)
TYPES = range(32)
NOT_A_VERSION = 9999
NAME = re.compile(r"builtin opcode '([^']*)'")
OUT_OF_RANGE = re.compile(r"out of range")
UNRESOLVED = re.compile(r"unresolved custom op|not supported by this interpreter|Didn't find custom op")
CANDIDATE = re.compile(rb"(?<![\w.])(?:[A-Z][A-Za-z0-9]*(?:_[A-Z][A-Za-z0-9]*)*|[a-z]+\.[a-z_]+)(?![\w.])")
KNOWN_CUSTOM = [
    "aeq.hadamard_rotation", "AudioSpectrogram", "Mfcc", "TFLite_Detection_PostProcess", "NumericVerify",
    "Convolution2DTransposeBias", "MaxPoolingWithArgmax2D", "MaxUnpooling2D", "DenseImageWarp",
    "IRFFT2D", "RFFT2D", "Irfft2d", "Rfft2d", "Rfft", "AvgPool3D", "MaxPool3D", "AvgPool3DGrad",
    "Multinomial", "RandomStandardNormal", "RandomUniform", "Roll", "Sign", "Table", "Bucketize",
    "HashTable", "HashTableFind", "HashTableImport", "HashTableSize", "HashtableLookup", "ReadVariable",
    "AssignVariable", "VarHandleOp", "RELU_1", "Relu1", "Atan2", "Cumsum", "Erf", "Gelu", "Hardswish",
    "Resampler", "TransformLandmarks", "TransformTensorBilinear", "Landmarks2TransformMatrix", "GenAi",
    "odml.rmsnorm", "odml.scaled_dot_product_attention", "odml.update_kv_cache",
    "odml.update_external_kv_cache", "odml.group_norm", "odml.upsample_bilinear2d",
    "StablehloScaledDotProductAttention", "odml.detector", "DISPATCH_OP", "LiteRtDispatch",
    "SampleCustom", "TFSentencepieceTokenizeOp", "TFSentencepieceDetokenizeOp",
    "WhitespaceTokenizeWithOffsets", "NGrams", "RaggedTensorToTensor", "tftext:Ngrams",
    "tftext:WhitespaceTokenizer", "tftext:WhitespaceTokenizeWithOffsets", "tftext:RaggedTensorToTensor",
    "tftext:FastWordpieceTokenizeWithOffsets", "tftext:FastBertNormalize",
    "tftext:FastSentencepieceTokenize", "Lstm", "Svdf", "Rnn", "ParseExample", "ParseExampleV2",
    "DecodeJpeg", "EdgeTpu", "edgetpu-custom-op",
]  # fmt: skip


class Wrapper:
    """The interpreter's wrapper of one release."""

    def __init__(self, path):
        module = _imported(path)
        owner = module if hasattr(module, "CreateWrapperFromBuffer") else module.InterpreterWrapper
        self.create = getattr(owner, "CreateWrapperFromBuffer", None) or owner.CreateWrapperCPPFromBuffer
        self.kinds = _argument_kinds(self.create.__doc__ or "")
        self.kept = b""

    def interpreter(self, content):
        """An interpreter for a model; raises ValueError with the interpreter's own text."""
        self.kept = content  # the wrapper does not copy it
        rest = [[] if kind in LISTS else False if kind == "bool" else 0 for kind in self.kinds]
        if "int" in self.kinds:
            rest[self.kinds.index("int")] = BUILTIN
        try:
            made = self.create(content, *rest)
        except (TypeError, NotImplementedError):  # SWIG, since 1.15: names of functions that register ops
            made = self.create(content, [])
        return made[0] if isinstance(made, tuple) else made

    def text(self, content, allocate=False):
        """The text of the refusal; None if the model is accepted."""
        try:
            interpreter = self.interpreter(content)
            if allocate:
                interpreter.AllocateTensors()
        except (ValueError, RuntimeError) as error:
            return str(error)
        return None


def _argument_kinds(signature):
    """The types of the arguments after the model, of the overload with most: `["int", "List", "bool"]`."""
    overloads = re.findall(r"arg0: bytes(.*?)\) ->", signature)
    kinds = [re.findall(r"arg\d+: (\w+)", overload) for overload in overloads]
    return max(kinds, key=len) if kinds else []


def _imported(path):
    folder, file = os.path.split(path)
    sys.path.insert(0, folder)
    name = file.split(".")[0]
    if name.startswith("_tensorflow_wrap"):  # made by SWIG: the class is in the Python file beside it
        return importlib.import_module(name[1:])
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def builtins(wrapper):
    """The registered versions by number, the names by number, and the texts of refusals."""
    versions, names, texts, newest = {}, {}, {}, -1
    for code in CODES:
        if code == CUSTOM:
            continue
        missing = wrapper.text(opcode_model([(code, NOT_A_VERSION)]))
        if OUT_OF_RANGE.search(missing):
            texts["out_of_range"] = missing
            continue
        name = NAME.search(missing).group(1)
        newest, names[code] = code, name
        accepted = [v for v in VERSIONS if wrapper.text(opcode_model([(code, v)])) is None]
        text = missing.replace("'" + name + "'", "'{op}'").replace(str(NOT_A_VERSION), "{version}")
        texts.setdefault("version" if accepted else "op", text)
        if accepted:
            versions[code] = accepted
    return versions, names, texts, newest


def custom_names(path):
    """Names in the libraries that could be those of custom ops."""
    names = set(KNOWN_CUSTOM)
    folder = os.path.dirname(path)
    for file in os.listdir(folder):
        if file == os.path.basename(path) or "_common.so" in file:
            with open(os.path.join(folder, file), "rb") as library:
                content = library.read()
            names |= {
                m.group().decode()
                for m in CANDIDATE.finditer(content)
                if 4 <= len(m.group()) <= 40
                and not m.group().startswith(b"Flex")
                and content[m.end() : m.end() + 1] == b"\0"
            }
    return sorted(names)


def custom_ops(wrapper, names):
    """Those of the names that are resolved; a delegate that crashes on its own op resolves nothing."""
    asked = [name for name in names if name not in XNNPACK_CUSTOM]
    outcomes = _apart([(name, custom_model(name)) for name in asked], wrapper)
    return [name for name, outcome in outcomes if outcome is None or not UNRESOLVED.search(outcome)]


def _apart(models, wrapper):
    """What allocating says of each model; a crash ends only the process that it happens in."""
    rest = list(models)
    while rest:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 2)
            with os.fdopen(writer, "w") as out:
                for _, content in rest:
                    out.write(json.dumps(wrapper.text(content, allocate=True)) + "\n")
                    out.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answers:
            outcomes = [json.loads(line) for line in answers if line.endswith("\n")]
        os.waitpid(child, 0)
        for (name, _), outcome in zip(rest, outcomes):  # noqa: B905  Python 3.6
            yield name, outcome
        if len(outcomes) < len(rest):
            yield rest[len(outcomes)][0], "crash"
        rest = rest[len(outcomes) + 1 :]


def has_delegate(wrapper):
    """Whether the interpreter delegates a float addition by default; None if it cannot be asked."""
    interpreter = wrapper.interpreter(add_model())
    interpreter.AllocateTensors()
    if not hasattr(interpreter, "NodeName"):
        return None
    return any(interpreter.NodeName(i) == "DELEGATE" for i in range(interpreter.NumNodes()))


def allocation_texts(wrapper):
    """What the interpreter says of ops that it resolves only when it allocates tensors."""
    models = {
        "flex": flex_model(),
        "custom": custom_model("Foo", "Bar"),
    }
    return dict(_apart(models.items(), wrapper))


def main():
    path = sys.argv[1]
    wrapper = Wrapper(path)
    versions, names, texts, newest = builtins(wrapper)
    texts.update(allocation_texts(wrapper))
    outcome = {
        "versions": versions,
        "names": names,
        "newest": newest,
        "custom": custom_ops(wrapper, custom_names(path)),
        "schemas": {v: wrapper.text(schema_model(v)) for v in range(6)},
        "types": {kind: wrapper.text(type_model(kind)) for kind in TYPES},
        "texts": texts,
        "delegate": has_delegate(wrapper),
        "xnnpack": dict(_apart([(name, xnnpack_model(name)) for name in XNNPACK_CUSTOM], wrapper)),
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
