"""`explain`: every message of real binaries is recognized, in any log format."""

import functools
import io
import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.truth_outcomes import read_small_model_outcomes

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.findings.finding import all_findings
from tfport.explain.builds import with_versions
from tfport.explain.cuda import linux_library
from tfport.explain.evidence import is_condition
from tfport.explain.explain import explain_log, explain_texts
from tfport.explain.find import MessageFinder
from tfport.explain.log import LONGEST_LINE, OVERLAP, WINDOW, clean, lines_of
from tfport.explain.lookup import lookup_function
from tfport.explain.messages import GAP, KINDS, fill, for_names, messages, placeholders
from tfport.explain.symbols import readable

HERE = Path(__file__).parent / "messages"
RECORDS = read_small_model_outcomes()
SAMPLES = [
    sample
    for path in sorted(HERE.glob("samples*.toml"))
    for sample in tomllib.loads(path.read_text())["sample"]
]
NOT_TENSORFLOWS = re.compile(  # messages of the recording scripts, and bare names
    r"TF_GraphOperationByName finds|there is no such signature|does not end in|ends the process"
    r"|StopIteration: $|KeyError: 'ghost'|IndexError: list index out of range$|no answer in|KeyError: 0$"
)
FILLED = {
    "op": "Acme", "ops": "Acme, Bolt", "name": "acme", "node": "a/b", "number": "7", "version": "7.1",
    "type": "float",
    "device": "/device:GPU:0", "library": "libacme.so.1", "symbol": "_ZN4acme3runEv", "path": "a/b.pb",
    "value": "seven", "shape": "[1,7]", "words": "some words",
}  # fmt: skip


def names(explained):
    return [explanation.name for explanation in explained.explanations]


def all_texts(explanation):
    causes = [
        text for cause in explanation.causes for text in (cause.means, cause.check or "", *cause.ways_out)
    ]
    return "\n".join([*explanation.means, *causes, *explanation.ways_out, *explanation.on_target])


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample['name']}: {sample['says'][:40]}")
def test_a_message_is_explained_from_the_records(sample):
    explanations = explain_texts([sample["says"]]).explanations
    assert [explanation.name for explanation in explanations] == [sample["name"]]
    assert explanations[0].code == sample.get("code")
    for words in sample["tells"]:
        assert words in all_texts(explanations[0])
    for words in sample.get("never", ()):
        assert words not in all_texts(explanations[0])
    named = [cause.means for cause in explanations[0].causes if cause.named]
    for words in sample.get("names", ()):  # words of the cause that is named; [] if none may be
        assert words in " ".join(named)
    assert "names" not in sample or bool(sample["names"]) == bool(named)


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_every_wording_is_found_by_its_row(message):
    for pattern in message.says:
        text = GAP.sub(lambda gap: FILLED[gap[2] or gap[1]], pattern.text).replace("…", " and so on ")
        names_found = {match.message.name for match in MessageFinder().read([text])}
        assert message.name in names_found, pattern.text


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_a_row_of_the_table_is_consistent(message):
    assert message.code is None or message.code in all_findings()
    assert message.lookup is None or callable(lookup_function(message.lookup))
    assert message.means.endswith(".")
    assert set(message.instead_of) <= {other.name for other in messages()} - {message.name}
    of_causes = [c for cause in message.causes for c in (*cause.speaks_for, *cause.speaks_against)]
    for condition in (*message.only_if, *message.unless, *of_causes):
        assert is_condition(condition), condition
    for cause in message.causes:
        assert cause.means.endswith(".")
        assert cause.check or cause.speaks_for, "nothing tells whether it is this cause"
    for pattern in message.says:
        assert len(pattern.anchor) >= 6, pattern.text
        assert pattern.text.count("…") <= 1, "two make the search quadratic"
        assert {kind or name for name, kind in GAP.findall(pattern.text)} <= KINDS.keys()


@pytest.mark.parametrize("message", messages(), ids=lambda message: message.name)
def test_every_wording_fills_the_texts_of_its_row(message):
    for pattern in message.says:
        names_in_pattern = {name for name, _ in GAP.findall(pattern.text)}
        of_causes = [text for c in message.causes for text in (c.means, c.check or "", *c.ways_out)]
        for text in (message.means, *message.ways_out, *of_causes):
            assert placeholders(for_names(text, names_in_pattern)) <= names_in_pattern, pattern.text
            assert not re.search("[«»|]", fill(text, dict.fromkeys(names_in_pattern, "x")))


def test_names_of_rows_are_unique():
    names_of_rows = [message.name for message in messages()]
    assert len(names_of_rows) == len(set(names_of_rows))


@pytest.mark.parametrize("name", RECORDS)
def test_messages_of_real_releases_are_recognized(name):
    outcomes = [o for by_loader in RECORDS[name]["outcomes"].values() for o in by_loader.values()]
    messages = {o["message"] for o in outcomes if o["stage"] and o["message"]}
    messages = {text for text in messages if not NOT_TENSORFLOWS.search(text)}
    assert [text for text in sorted(messages) if not is_recognized(text)] == []


@functools.cache
def is_recognized(text):
    """Whether a message is found; many releases say the same."""
    return bool(MessageFinder().read(text.splitlines(keepends=True)))


def test_the_same_message_is_explained_once():
    explained = explain_texts(["Op type not registered 'AddV2' in binary running on box.\n" * 300])
    assert [(e.name, e.count) for e in explained.explanations] == [("unregistered-op", 300)]


def test_a_log_of_serving_gives_one_error_and_one_harmless_message():
    with (HERE / "serving.log").open() as log:
        explained = explain_log(lines_of(log))
    assert [(e.name, e.kind, e.count) for e in explained.explanations] == [
        ("unregistered-op", "error", 3),
        ("harmless-remark", "harmless", 1),
    ]
    assert "since 2.5.0" in all_texts(explained.explanations[0])


def test_a_message_across_several_container_records_is_recognized():
    with (HERE / "kubernetes.jsonl").open() as log:
        (explanation,) = explain_log(lines_of(log)).explanations
    assert (explanation.name, explanation.names["op"]) == ("no-kernel", "CudnnRNN")
    assert "only kernels for GPU" in all_texts(explanation)


@pytest.mark.parametrize("name", ["terminal.log", "response.json"])
def test_colors_wrapped_words_and_escapes_are_ignored(name):
    with (HERE / name).open() as log:
        (explanation,) = explain_log(lines_of(log)).explanations
    assert explanation.names == {"op": "BatchMatMulV2"}


@pytest.mark.parametrize("quote", ["'", '"', "`", "\u2018", "\\'", "&#39;", ""])
def test_any_quotes_are_accepted(quote):
    (explanation,) = explain_texts([f"Op type not registered {quote}AddV2{quote} in binary"]).explanations
    assert explanation.names == {"op": "AddV2"}


def test_a_wrapping_message_is_reported_with_the_error():
    inner = "Op type not registered 'SelectV2' in binary running on box."
    wrapped = (
        f"Converting GraphDef to Graph has failed with an error: '{inner}' The binary trying to import the "
        "GraphDef was built when GraphDef version was 24. The GraphDef was produced by a binary built when "
        "GraphDef version was 987. The difference between these versions is larger"
    )
    assert names(explain_texts([wrapped])) == ["unregistered-op", "graph-versions"]


def test_the_place_of_an_error_is_reported_only_without_other_messages():
    trace = "InvalidArgumentError: max_a must be larger than min_a.\n\t [[{{node m}}]]"
    assert names(explain_texts([trace])) == ["raised-at-node"]
    assert names(explain_texts([trace, "\nTable not initialized\n"])) == ["table-not-initialized"]


def test_a_key_error_that_names_no_op_is_ignored():
    assert names(explain_texts(["KeyError: 'user_id'"])) == []
    assert names(explain_texts(["KeyError: 'Add'"])) == []
    trace = "File 'importer.py', line 3, in import_graph_def\nop_def = op_dict[node.op]\n"
    assert names(explain_texts([f"{trace}KeyError: u'Add'"])) == ["unregistered-op-in-python"]
    assert names(explain_texts(["KeyError: 'SaveV2'"])) == ["unregistered-op-in-python"]


def test_facts_about_the_target_are_added():
    (target,) = resolve_targets("tensorflow==1.13.2")
    (explanation,) = explain_texts(["Op type not registered 'BatchMatMulV2'"], target=target).explanations
    assert explanation.on_target == ["tensorflow 1.13.2 does not register BatchMatMulV2; it has BatchMatMul"]


def test_an_add_on_is_named_in_the_version_that_matches_the_target():
    (target,) = resolve_targets("tensorflow==2.8.4")
    (explanation,) = explain_texts(["Op type not registered 'CaseFoldUTF8'"], target=target).explanations
    assert "tensorflow-text==2.8.2 matches the target and registers CaseFoldUTF8" in explanation.on_target


@pytest.mark.parametrize(
    ("version", "releases"),
    [
        ("2.1", ["2.1.0", "2.1.2", "2.1.4"]),
        ("2.1.0", ["2.1.0"]),
        ("2", ["2.20.0", "2.21.0"]),
        ("1.1", ["1.1.0"]),
    ],
)
def test_a_version_matches_its_own_patches_only(version, releases):
    text = f"ERROR: No matching distribution found for tensorflow=={version}"
    (explanation,) = explain_texts([text]).explanations
    listed = [fact.split()[1] for fact in explanation.means if "has wheels for Python" in fact]
    assert listed[-len(releases) :] == releases
    assert len(listed) <= 3


def test_the_nodes_of_a_model_are_shown():
    model = tfport.load("examples/attention")
    (target,) = resolve_targets("tensorflow==1.13.2")
    text = ["Op type not registered 'BatchMatMulV2'"]
    (explanation,) = explain_texts(text, model=model, target=target).explanations
    assert explanation.affected.count == 5
    assert explanation.affected.examples[0].signatures == ["serving_default"]
    assert explanation.affected.predicted[0].startswith("TFP101 op `BatchMatMulV2` is not registered")


def test_a_message_about_another_model_has_no_nodes():
    model = tfport.load("examples/attention")
    (explanation,) = explain_texts(["Op type not registered 'FusedBatchNormV3'"], model=model).explanations
    assert explanation.affected.count == 0


def test_an_unknown_message_gets_the_nearest_known_one():
    explained = explain_texts(["the op type was not registred"])
    assert (explained.explanations, explained.nearest) == ([], "Op type not registered '{op}'")
    assert explain_texts(["nothing of interest"]).nearest is None


def test_an_unknown_message_tells_whose_code_raised_it():
    text = (
        'File "/lib/python3.6/site-packages/tensorflow_core/python/keras/engine/network.py", line 7, in f\n'
        'File "/lib/python3.6/site-packages/acme/layers.py", line 9, in g\nAcmeError: 7 wombats\n'
    )
    explained = explain_texts([text])
    assert explained.explanations == []
    assert explained.clues == [
        "the paths are those of TensorFlow 1.15 to 2.1 (the folder tensorflow_core), and of "
        "the Keras inside TensorFlow (up to 2.5; a private copy later)",
        "it ran on Python 3.6",
        "the last file in the traceback belongs to the package acme",
    ]
    assert "on Python 3.6" in str(explained)
    assert explain_texts(["nothing of interest"]).clues == []


@pytest.mark.parametrize(
    ("path", "keras"),
    [
        ("site-packages/keras/engine/saving.py", "Keras 1.0 to 2.12"),
        ("site-packages/keras/src/engine/base_layer.py", "Keras 2.13 to 2.15"),
        ("site-packages/keras/src/layers/layer.py", "Keras 3"),
        (r"C:\\Python310\\lib\\site-packages\\tf_keras\\src\\engine\\training.py", "tf_keras"),
        ("site-packages/tensorflow/python/keras/engine/training.py", "the Keras inside TensorFlow"),
    ],
)
def test_folders_tell_the_keras(path, keras):
    told = explain_texts([f'File "{path}", line 3, in f\nAcmeError: 7 wombats']).clues[0]
    assert told.startswith(("the paths are those of " + keras, "the paths are those of the package " + keras))
    assert ", and of " not in told


def test_a_message_across_the_end_of_a_window_is_found_once():
    message = "Op type not registered 'AddV2' in binary\n"
    for before in range(WINDOW - 60, WINDOW + 20, 7):
        log = io.StringIO(
            "x" * 99 + "\n" + ("y " * 49 + "\n") * (before // 99) + "z" * (before % 99) + "\n" + message
        )
        assert [(e.name, e.count) for e in explain_log(lines_of(log)).explanations] == [
            ("unregistered-op", 1)
        ]


def test_too_many_different_messages_are_counted():
    explained = explain_texts([f"Table x: Key k{i} not found in checkpoint\n" for i in range(130)])
    assert (len(explained.explanations), explained.more) == (100, 30)


def test_a_very_long_line_is_read_in_pieces():
    lines = list(lines_of(io.StringIO("x" * (3 * LONGEST_LINE))))
    assert max(map(len, lines)) == LONGEST_LINE


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN10tensorflow8OpKernelC2EPNS_20OpKernelConstructionE", "tensorflow::OpKernel"),
        ("_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb",
         "tensorflow::OpKernel::TraceString"),
        ("_ZTIN10tensorflow8OpKernelE", "tensorflow::OpKernel"),
        ("TF_LoadLibrary", "TF_LoadLibrary"),
        ("_Z", "_Z"),
        ("_ZN99999x", "x"),
    ],
)  # fmt: skip
def test_a_mangled_name_is_read(symbol, name):
    assert readable(symbol) == name


PIECES = sorted({pattern.anchor for message in messages() for pattern in message.says})
SIGNS = ["'", '"', "{", "}", "[", "]", "\n", " ", "\\n", "{{node ", "=", "DT_", "device='", "; ", "Op<name="]
HOSTILE = st.lists(st.sampled_from(PIECES) | st.sampled_from(SIGNS) | st.text(max_size=8), max_size=60)


@given(HOSTILE.map("".join))
@settings(max_examples=150, deadline=None)
def test_no_text_causes_an_error(text):
    explained = explain_texts([text])
    assert isinstance(str(explained), str)
    assert json.dumps(explained.to_json())


@given(st.sampled_from(PIECES), st.sampled_from(PIECES), st.text(max_size=20))
@settings(max_examples=40, deadline=None)
def test_thousands_of_partial_matches_are_fast(first, other, between):
    matches = MessageFinder().read((f"{first}{between}{other} " * 1000).splitlines(keepends=True))
    assert all(match.count <= 2000 for match in matches)


@pytest.mark.parametrize("reach", range(33))
def test_a_message_across_the_end_of_a_window_counts_once(reach):
    message = "OutOfRangeError: End of sequence"  # a part of it is a wording of the same row
    after = "x" * (OVERLAP - len(message) - 1 + reach)  # the window ends after `reach` letters of the message
    (match,) = MessageFinder().read([f"{'x' * WINDOW} {message} {after}"])
    assert match.count == 1


@given(st.text(max_size=300))
def test_cleaning_gives_words(text):
    assert all(word.split() == [word] for word in clean(text))


def test_a_specific_row_is_reported_instead_of_a_general_one():
    frozen = "Input 0 of node a was passed float from b:0 incompatible with expected resource"
    assert names(explain_texts([frozen])) == ["variable-frozen-away"]


def test_a_row_replaces_its_consequences():
    log = "CUDA_ERROR_OUT_OF_MEMORY\ncould not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR"
    assert names(explain_texts([log])) == ["out-of-gpu-memory"]


def test_text_typed_by_hand_is_recognized_in_any_case():
    assert names(explain_texts(["decodeerror: error parsing Message"])) == ["model-unreadable"]


def test_source_lines_of_a_traceback_are_ignored_beside_the_message():
    source = 'raise IOError("SavedModel file does not exist at: %s" % path)'
    (explanation,) = explain_texts([source, "\nOSError: SavedModel file does not exist at: x"]).explanations
    assert explanation.names == {"path": "x"}


def test_the_wording_with_names_is_reported_once():
    text = "error: 'tf.Erf' op is neither a custom op nor a flex op\nError code: ERROR_NEEDS_FLEX_OPS"
    (explanation,) = explain_texts([text]).explanations
    assert explanation.names == {"ops": "Erf"}


def test_backslashes_in_paths_of_windows_are_kept():
    assert clean(r"C:\lib\tensorflow\new.dll") == [r"C:\lib\tensorflow\new.dll"]
    assert clean(r'File "env\lib\tensorflow\new.py", line 7') == [
        "File",
        r'"env\lib\tensorflow\new.py",',
        "line",
        "7",
    ]
    assert clean(r"first\n\tsecond") == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "on_linux"),
    [
        ("cudart64_110.dll", "libcudart.so.11.0"),
        ("cudart64_90.dll", "libcudart.so.9.0"),
        ("cudnn64_8.dll", "libcudnn.so.8"),
        ("cublas64_11.dll", "libcublas.so.11"),
        ("nvcuda.dll", "libcuda.so.1"),
        ("libcudart.10.1.dylib", "libcudart.so.10.1"),
        ("libcudart.so.12", "libcudart.so.12"),
    ],
)
def test_libraries_of_other_systems_have_a_name_on_linux(name, on_linux):
    assert linux_library(name) == on_linux


def test_a_row_whose_lookup_rejects_the_text_leaves_it_to_a_more_general_row():
    text = "File \"/usr/lib/site-packages/keras.py\", line 3: No module named 'acme'"
    assert names(explain_texts([text])) == ["module-not-found"]
    assert names(explain_texts(["lib.so: version `ACME_2.1' not found"])) == ["library-version-not-found"]


def test_source_lines_of_a_traceback_are_no_messages():
    trace = (
        'Traceback (most recent call last):\n  File "saving.py", line 228, in load_model\n'
        "    raise ValueError('No model found in config file.')\n"
        "NotFoundError: Op type not registered 'BatchMatMulV2'"
    )
    assert names(explain_texts([trace])) == ["unregistered-op"]
    notebook = (
        "~/keras/engine/saving.py in load_model(filepath, custom_objects, compile)\n"
        "    227     if model_config is None:\n"
        "    228       raise ValueError('No model found in config file.')\n"
        "--> 229     model_config = json.loads(model_config.decode('utf-8'))\n"
        "AttributeError: 'str' object has no attribute 'decode'"
    )
    assert names(explain_texts([notebook])) == ["h5py-too-new"]


def test_what_does_not_stop_the_program_follows_its_error():
    log = (
        "W dso_loader.cc:60] Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: "
        "cannot open shared object file: No such file or directory\n"
        "ModuleNotFoundError: No module named 'tensorflow.contrib'"
    )
    assert names(explain_texts([log])) == ["contrib-removed", "library-not-found"]


def test_messages_of_cuda_from_other_frameworks_get_no_advice_about_tensorflow():
    error = "CUDA error: no kernel image is available for execution on the device"
    text = f"site-packages/torch/nn/functional.py\n{error}"
    (explanation,) = explain_texts([text]).explanations
    assert explanation.name == "compute-capability"
    assert "PyTorch printed it, not TensorFlow." in explanation.means
    assert "TensorFlow" not in " ".join(explanation.ways_out)
    (of_tensorflow,) = explain_texts([f"import tensorflow, torch\n{text}"]).explanations
    assert "TensorFlow" in " ".join(of_tensorflow.ways_out)


FIRST = (
    'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
    "NotFoundError: Key dense/kernel not found in checkpoint\n"
)
SECOND = (
    'Traceback (most recent call last):\n  File "b.py", line 3, in f\n    g()\n'
    "NotFoundError: Op type not registered 'AddV2'\n"
)
HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"


@pytest.mark.parametrize("between", [HANDLING, DIRECT])
def test_only_the_first_of_several_chained_exceptions_is_explained(between):
    assert names(explain_texts([FIRST + between + SECOND])) == ["key-not-in-checkpoint"]
    assert names(explain_texts([SECOND + between + FIRST])) == ["unregistered-op"]
    assert len(explain_texts([SECOND + FIRST]).explanations) == 2
    unknown = "Traceback (most recent call last):\nAcmeError: 7 wombats\n"
    assert names(explain_texts([unknown + between + FIRST + between + SECOND])) == ["key-not-in-checkpoint"]
    later = "x" * 20_000 + "\n"
    assert len(explain_texts([FIRST + between + unknown + later + SECOND]).explanations) == 2


def test_a_message_that_a_later_exception_repeats_counts_once():
    (explanation,) = explain_texts([FIRST + HANDLING + FIRST]).explanations
    assert explanation.count == 1
    nested = f"ImportError: {FIRST}\n\nFailed to load the native runtime.\n"
    (explanation,) = explain_texts([FIRST + HANDLING + nested]).explanations
    assert explanation.count == 1
    (explanation,) = explain_texts([FIRST + FIRST]).explanations
    assert explanation.count == 2


def test_the_last_cause_of_an_exception_in_java_is_explained():
    trace = (
        "java.lang.IllegalStateException: Key dense/kernel not found in checkpoint\n"
        "\tat org.acme.Main.main(Main.java:3)\n"
        "Caused by: org.tensorflow.TensorFlowException: Op type not registered 'AddV2'\n"
    )
    assert names(explain_texts([trace])) == ["unregistered-op"]
    other = "java.lang.IllegalArgumentException: Key dense/kernel not found in checkpoint\n"
    assert len(explain_texts([trace + other]).explanations) == 2


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("API version 0xf but this version of numpy is 0xe", "pip install 'numpy>=1.22,<2' (not for"),
        ("API version 0xf but this version of numpy is 0xe with tensorflow 2.10.1",
         "pip install 'numpy>=1.22,<1.24' (for tensorflow 2.10.1)"),
        ("API version 0xf but this version of numpy is 0xe with tensorflow 2.10 and tensorflow 2.12",
         "pip install 'numpy>=1.22,<2' (not for"),
        ("API version 0xf but this version of numpy is 0xe with tensorflow 2.4.1",
         "numpy>=1.22,<2, with another TensorFlow: tensorflow 2.4.1 requires numpy>=1.19.2,<1.20"),
        ("ABI version 0x1000009 but this version of numpy is 0x2000000", "pip install 'numpy<2'"),
        ("ABI version 0x2000000 but this version of numpy is 0x1000009", "pip install 'numpy>=2.0,<3'"),
    ],
)  # fmt: skip
def test_commands_have_versions_that_fit_the_release(text, way):
    (explanation,) = explain_texts([f"module compiled against {text}"]).explanations
    assert explanation.ways_out[0].startswith(way)


def test_a_package_without_limits_gets_those_of_the_release():
    (match,) = MessageFinder().read(["Op type not registered 'AddV2' in tensorflow 2.16.1"])
    assert with_versions("pip install {pip:numpy}", match, None).startswith("pip install 'numpy>=1.26.0,<2'")
    assert "'tf-keras==2.16.0'" in with_versions("pip install {pip:tf-keras}", match, None)
    (match,) = MessageFinder().read(["Op type not registered 'AddV2'"])
    assert "numpy>=1.26.0,<2.2 for 2.19" in with_versions("pip install {pip:numpy}", match, None)
    assert "tf-keras==2.19.0 for 2.19" in with_versions("pip install {pip:tf-keras}", match, None)
    (target,) = resolve_targets("tensorflow==2.12.1")
    assert "'numpy>=1.22,<=1.24.3'" in with_versions("pip install {pip:numpy}", match, target)


@pytest.mark.parametrize(
    "line",
    [
        "from acme import BackendIsNotSupposedToImplementIt, NotEncodableError",
        "     19 from acme import NotEncodableError",
        "from acme.errors import NotEncodableError as Error",
    ],
)
def test_a_name_in_an_import_is_no_message(line):
    assert names(explain_texts([line])) == []
    assert names(explain_texts([f"{line}\nacme.NotEncodableError: No encoder for object"])) != []
