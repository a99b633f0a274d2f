"""What is recorded about the names in a text without a known message."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfport.explain.entities import clues
from tfport.explain.explain import explain_texts


@pytest.mark.parametrize(
    ("text", "clue"),
    [
        ("the model uses BatchMatMulV2 here",
         "BatchMatMulV2 is an op, which TensorFlow registers since 1.14.0"),
        ("something with op 'Size' failed",
         "Size is an op, which TensorFlow registers in all recorded releases"),
        ("Node: a = CaseFoldUTF8[x], op: CaseFoldUTF8",
         "CaseFoldUTF8 is an op of tensorflow-text, not of TensorFlow"),
        ("'FusedBatchNorm'", "FusedBatchNorm is an op"),
        ("no entry TF_NewBufferFromString here",
         "TF_NewBufferFromString is a symbol that TensorFlow exports since 1.3"),
        ("_ZN10tensorflow8OpKernelC2EPNS_20OpKernelConstructionE", "tensorflow::OpKernel is a symbol that"),
        ("the layer 'TextVectorization'", "TextVectorization is a class of Keras, in TensorFlow since 2.1"),
        ("it calls tf.contrib.rnn", "TensorFlow has tensorflow.contrib.rnn up to 1.15"),
        ("no cudart64_100.dll",
         "cudart64_100.dll is needed by tensorflow 1.15.0 and tensorflow-gpu 1.13.1 to 2.0.4"),
        ("wants GLIBC_2.23", "releases that need only an older GLIBC than 2.23: tensorflow"),
        ("with tensorflow 2.4.0 there",
         "TensorFlow 2.4.0 has wheels for Python 3.6, 3.7, 3.8, and was built with CUDA"),
        ("with Python 3.6.1 there", "it ran on Python 3.6"),
    ],
)  # fmt: skip
def test_names_are_looked_up_in_any_text(text, clue):
    assert any(known.startswith(clue) for known in clues(text)), clues(text)


@pytest.mark.parametrize(
    "text",
    [
        "could not Add the Size of Print",
        "MobileNetV2 and InceptionV3 of 'ResNet'",
        "a 'Conv2D' layer after Dense and 'BatchNormalization'",
        "see tensorflow.org and tensorflow.js, keras.io, model.tf.lite",
        "/usr/lib/BatchMatMulV2/x.py",
        "_ZN4acme3runEv and TF_ACME",
        "tensorflow 99.1.0",
        "tf.keras.wombat",
    ],
)
def test_words_that_only_look_like_names_tell_nothing(text):
    assert clues(text) == []


def test_clues_are_few():
    ops = " ".join(f"op 'Add' op 'Sub' op 'Mul' op 'Div' op 'Neg' with tensorflow 2.{n}.0" for n in range(21))
    assert len(clues(ops)) <= 6


PIECES = ["op 'Add'", "_ZN", "TF_", "tf.", "GLIBC_", "2.4", "tensorflow ", "\\", '"', "\n"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=40))
@settings(max_examples=100, deadline=None)
def test_no_text_stops_the_search_for_names(parts):
    assert all(isinstance(clue, str) for clue in clues("".join(parts)))


@pytest.mark.parametrize(
    "piece", ["a", "tf.a.", "GLIBC_2.", "_ZN1", "A", "op 'A' ", "tensorflow ", "File ", "\\"]
)
def test_long_lines_are_searched_in_linear_time(piece):
    assert isinstance(clues(piece * (4096 // len(piece))), list)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        (
            "ValueError: logits and labels must have the same shape ((None, 1) vs (None, 10))",
            "trains a model",
        ),
        ("File x.py, in fit\nIncompatible shapes: [32,10] vs. [32,1]", "trains a model"),
        ("main.cc: undefined reference to `acme::run()'", "linker"),
        ("WARNING: Retrying (Retry(total=4, connect=None)) after connection broken", "network"),
        (
            "Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.'\n"
            "Could not find a version that satisfies the requirement tensorflow (from versions: )",
            "pip reached no package index",
        ),
        ("socket.timeout: The read operation timed out", "network"),
        (
            "model.fit_generator(batches)\nError when checking model input: expected dense_1 to have shape "
            "(None, 7) but got array with shape (7, 1)",
            "trains a model",
        ),
    ],
)
def test_what_no_record_explains_is_named_in_one_line(text, about):
    explained = explain_texts([text])
    assert (explained.explanations, explained.nearest, explained.clues) == ([], None, [])
    assert about in explained.out_of_scope
    assert about in " ".join(str(explained).split())
    assert explained.exit_code == 1
    assert explained.to_json()["out_of_scope"] == explained.out_of_scope


def test_what_is_explained_is_not_called_out_of_scope():
    explained = explain_texts(["undefined reference to `acme()'\nOp type not registered 'AddV2'"])
    assert [explanation.name for explanation in explained.explanations] == ["unregistered-op"]
    assert explained.out_of_scope is None


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named '__main__.parts'; '__main__' is not a package",
        'File "/usr/lib/python3/dist-packages/pandas/core/frame.py", line 7, in take\n'
        "IndexError: indices are out-of-bounds",
    ],
)
def test_what_python_and_pandas_say_of_other_things_is_not_explained(text):
    assert explain_texts([text]).explanations == []


def test_what_pip_reports_comes_after_what_failed():
    report = "acme 0.5 has requirement numba>=0.51, but you'll have numba 0.49 which is incompatible."
    explained = explain_texts([f"{report}\nCan not squeeze dim[2], expected a dimension of 1, got 7"])
    assert [e.name for e in explained.explanations] == ["shapes-do-not-fit", "pip-requirement-not-met"]


def test_a_long_log_has_no_nearest_message():
    log = (
        "Fatal error in launcher: Python of acme could not start\n"
        + 'File "/acme/tensorflow/x.py", line 7\n' * 9
    )
    assert explain_texts([log]).nearest is None


def test_a_file_of_python_itself_is_called_so():
    text = 'File "/usr/lib/python3.11/subprocess.py", line 7, in run\nAcmeError: no acme'
    clue = "the last file in the traceback belongs to Python itself: subprocess.py"
    assert clue in explain_texts([text]).clues


def test_names_of_another_framework_are_no_ops_of_tensorflow():
    text = "onnxruntime.capi.InvalidGraph: Unrecognized attribute: allowzero for operator Reshape"
    assert explain_texts([text]).clues == []


def test_only_a_message_that_is_nearly_the_same_is_named():
    assert explain_texts(["the op type was not registred"]).nearest == "Op type not registered '{op}'"
    assert explain_texts(["could not import the file into the other model"]).nearest is None
    words = "op type unknown was given not wombats registered here\n"
    assert explain_texts(["\n".join(words.split()) * 3]).nearest is None
