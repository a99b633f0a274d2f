"""Causes are named only with evidence for them in the text around the message."""

import pytest

from tfport.explain.evidence import PLATFORMS, Circumstances, is_condition, weigh
from tfport.explain.messages import PossibleCause

WINDOWS_TRACE = (
    "Traceback (most recent call last): "
    r'File "C:\Python310\lib\site-packages\keras\src\models\model.py", line 7, '
    "in f g() ValueError: "
)
OWN_TRACE = (
    'File "/usr/lib/python3/dist-packages/acme.py", line 1, in f File "/home/me/train.py", line 3, in g '
)


def circumstances(before="", text=" message", **names):
    return Circumstances(before, text, names)


@pytest.mark.parametrize(
    ("condition", "before", "evidence"),
    [
        ("python>=3.10", WINDOWS_TRACE, "it ran on Python 3.10"),
        ("python>=3.11", WINDOWS_TRACE, None),
        ("python<3.7", 'File "/usr/lib/python3.6/x.py"', "it ran on Python 3.6"),
        ("python>=3.12", "error: tensorflow-2.4.0-cp312-none.whl", "it ran on Python 3.12"),
        ("keras>=3", WINDOWS_TRACE, "the traceback goes through keras/src: Keras 3"),
        ("keras<3", WINDOWS_TRACE, None),
        ("keras<2.13", 'File "/a/keras/engine/saving.py"',
         "the traceback goes through keras/engine: Keras 1.0 to 2.12"),
        ("keras<2.12", 'File "/a/keras/engine/saving.py"', None),
        ("keras<2.13", 'File "/a/tensorflow/python/keras/engine/saving.py"', None),
        ("tensorflow<2.16", "I use tensorflow-gpu==2.10.1.", "the text names tensorflow-gpu==2.10.1"),
        ("tensorflow<2.16", "TF version: 2.10", "the text names TF version: 2.10"),
        ("tensorflow<2.16", "tf.__version__ = '2.4.0'", "the text names tf.__version__ = '2.4.0"),
        ("tensorflow<2.16", "worked on tensorflow 2.15, fails on tensorflow 2.16", None),
        ("tensorflow<2.16", "acme requires tensorflow 2.15.0", None),
        ("tensorflow<2.16", "needs tensorflow>=2.4", None),
        ("tensorflow<2.16", "works with tensorflow 2.4 or later", None),
        ("python<3.9", "this package requires Python 3.7", None),
        ("python<3.9", "Python 3.7+ is fine", None),
        ("python<3.9", "for Python 3.7.1 and newer", None),
        ("numpy>=2,<3", "cannot be run in NumPy 2.0.2 as it may crash", "the text names NumPy 2.0.2"),
        ("tf-keras>=2", 'File "/a/site-packages/tf_keras/src/x.py"',
         "the traceback goes through tf_keras: the package tf_keras (Keras 2)"),
        ("keras>=2", 'File "/a/site-packages/tf_keras/src/x.py"', None),
        ("path:keras/src", WINDOWS_TRACE, "the text has a path through keras/src"),
        ("path:keras/src", "/lib/tf_keras/src/x.py", None),
        ("names_path:tensorflow/lite/", "", "the path in the message is one of tensorflow/lite/"),
        ("names_path:tensorflow/contrib/", "File tensorflow/contrib/a.py", None),
        ("tensorflow<1.0", "https://acme.org/linux/tensorflow-0.9.0-cp27-none-linux_x86_64.whl",
         "the text names tensorflow-0.9.0-cp2"),
        ("platform:packed", r'File "site-packages\tensorflow\__init__.py", line 2',
         'the text shows a program packed by PyInstaller or the like ("File "site-packages\\")'),
        ("platform:packed", r"C:\me\dist> .\acme.exe",
         'the text shows a program packed by PyInstaller or the like ("\\dist> .\\acme.exe")'),
        ("platform:packed", r"C:\me\python.exe train.py", None),
        ("raised_in:own",
         OWN_TRACE + 'File "/usr/lib/site-packages/google/protobuf/descriptor.py", line 5, in __new__ ',
         "the file that raised it, /home/me/train.py, belongs to no installed package"),
        ("raised_in:own", 'File "/home/me/train.py", line 1, in <module> import acme AttributeError: ', None),
        ("raised_in:own", 'File "/home/me/train.py", line 1, in <module> import acme ImportError: ',
         "the file that raised it, /home/me/train.py, belongs to no installed package"),
        ("raised_in:keras/src", WINDOWS_TRACE, "a file of keras/src raised it"),
        ("raised_in:own", WINDOWS_TRACE, None),
        ("raised_in:installed", WINDOWS_TRACE, "a file of the installed package keras raised it"),
        ("raised_in:installed", OWN_TRACE, None),
        ("raised_in:installed", 'File "/usr/lib/python3.8/json/decoder.py", line 3, in g ', None),
        ("raised_in:own", OWN_TRACE,
         "the file that raised it, /home/me/train.py, belongs to no installed package"),
        ("raised_in:own", "", None),
        ("suffix:.h5", "load_model('a/model.h5')", "the text names a/model.h5"),
        ("suffix:.h5", "load_model('a/model.h5py')", None),
        ("platform:windows", WINDOWS_TRACE, 'the text shows Windows ("C:\\")'),
        ("platform:linux", WINDOWS_TRACE, None),
        ("No module named '{module:name}'", "No module named \"acme\"",
         'the text has "No module named "acme""'),
        ("class {layer}(", "class Mean(Layer):", 'the text has "class Mean("'),
        ("class {layer}(", "class Max(Layer):", None),
        ("class {other}(", "class Mean(Layer):", None),
        ("keras>=3 & platform:windows", WINDOWS_TRACE,
         'the traceback goes through keras/src: Keras 3 and the text shows Windows ("C:\\")'),
        ("keras>=3 & platform:linux", WINDOWS_TRACE, None),
    ],
)  # fmt: skip
def test_conditions_say_what_they_found(condition, before, evidence):
    assert is_condition(condition)
    names = {"layer": "Mean", "path": r"C:\me\tensorflow\lite\acme.so"}
    assert circumstances(before, **names).evidence(condition) == evidence


def test_a_path_without_suffix_is_one_of_the_message():
    assert circumstances(path="/a.b/model").evidence("suffix:none") == "/a.b/model has no suffix"
    assert circumstances(path="/a/model.h5").evidence("suffix:none") is None
    assert circumstances().evidence("suffix:none") is None


@pytest.mark.parametrize("condition", ["platform:amiga", "a", "{op}"])
def test_conditions_that_say_nothing_are_rejected(condition):
    assert not is_condition(condition)


def test_systems_are_recognized_only_by_their_own_texts():
    assert all(circumstances("").evidence(f"platform:{name}") is None for name in PLATFORMS)
    assert circumstances("C:/Users/me/x.py").evidence("platform:macos") is None


OLD = PossibleCause(
    "An old one wrote {layer}.", ("keras<3", "old times"), ("never mind",), check="look at {layer}"
)
NEW = PossibleCause("A new one wrote it.", ("keras>=3",), ways_out=("go",))


@pytest.mark.parametrize(
    ("before", "means", "named"),
    [
        ("", ["An old one wrote Mean.", "A new one wrote it."], False),
        ("keras 3.1", ["A new one wrote it."], True),
        ("keras 2.3", ["An old one wrote Mean."], True),
        ("old times keras 3.1", ["An old one wrote Mean.", "A new one wrote it."], False),
        ("never mind old times", ["A new one wrote it."], False),
    ],
)
def test_a_cause_is_named_only_if_the_evidence_leaves_no_other(before, means, named):
    causes = weigh([OLD, NEW], circumstances(before), {"layer": "Mean"})
    assert [cause.means for cause in causes] == means
    assert {cause.named for cause in causes} == {named}


def test_what_a_lookup_knows_counts_as_evidence():
    (cause,) = weigh(
        [OLD, PossibleCause("A third.", evidence=("a record",))], circumstances(), {"layer": "Mean"}
    )
    assert (cause.means, cause.named, cause.evidence) == ("A third.", True, ["a record"])


def test_a_cause_that_needs_evidence_is_not_listed_without_it():
    causes = [PossibleCause("It is new."), PossibleCause("It is old.", ("acme<2",), needs_evidence=True)]
    assert [cause.means for cause in weigh(causes, circumstances(), {})] == ["It is new."]
    assert [cause.means for cause in weigh(causes, circumstances("acme 1.0"), {})] == ["It is old."]
