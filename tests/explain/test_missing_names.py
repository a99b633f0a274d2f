"""`explain.missing_names`: only what is recorded about a name is said."""

import re
import tomllib

import pytest

from tfport.atlas.python_names import presence
from tfport.explain.explain import explain_texts
from tfport.explain.missing_names import REPLACED

CLAIMS = ("misspelled", "it is of an older one", "are mixed", "uninstall every", "is broken")
FRAME = '  File "{}", line 7, in <module>\n    {}\n'
KERAS_FILE = "/usr/lib/python3.6/site-packages/keras/backend/tensorflow_backend.py"
TABLES = tomllib.loads(REPLACED.read_text())
REPLACEMENTS = TABLES["names"] | TABLES["before-1"]
NAME = re.compile(r"`((?:tf|tensorflow|keras)\.[\w.]*\w)")


def texts(message):
    return "\n".join(
        line for e in explain_texts([message]).explanations for line in [*e.means, *e.ways_out]
    )  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        "AttributeError: module 'tensorflow' has no attribute 'models'",
        "AttributeError: module 'tensorflow.keras.backend' has no attribute 'image_dim_ordering'",
        "AttributeError: module 'tensorflow.keras.backend' has no attribute 'no_such_name'",
        "ImportError: cannot import name '_obtain_input_shape'",
        "ImportError: cannot import name 'tf_utils'",
        "ImportError: cannot import name 'GceClusterResolver'",
        "ModuleNotFoundError: No module named 'tensorflow.python._pywrap_tens",
        "ModuleNotFoundError: No module named 'tensorflow.no_such_module'",
        "AttributeError: module 'tensorflow.contrib.layers' has no attribute 'no_such_name'",
    ],
)
def test_nothing_is_concluded_from_a_name_that_is_not_recorded(message):
    assert [claim for claim in CLAIMS if claim in texts(message)] == []


def test_a_name_that_is_recorded_nowhere_is_called_so():
    told = texts("AttributeError: module 'tensorflow.keras.backend' has no attribute 'no_such_name'")
    assert "No recorded release of TensorFlow (1.0 to 2." in told
    assert "earlier releases" in told


def test_a_name_before_1_that_is_listed_has_its_replacement():
    told = texts("AttributeError: module 'tensorflow' has no attribute 'pack'")
    assert "It is a name from before 1.0" in told
    assert "use `tf.stack`" in told


def test_a_name_of_the_package_keras_is_looked_up_there():
    told = texts("AttributeError: module 'tensorflow.keras.backend' has no attribute 'image_dim_ordering'")
    assert "The package keras has keras.backend.image_dim_ordering up to 2." in told
    assert "image_data_format()" in told


def test_all_places_of_a_name_without_a_module_are_listed():
    told = texts("ImportError: cannot import name 'tf_utils'")
    assert "tensorflow.python.keras.utils (since 1.9)" in told
    assert "does not tell which" in told


def test_a_place_without_a_module_has_its_replacement():
    assert "keras_applications" in texts("ImportError: cannot import name '_obtain_input_shape'")


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (FRAME.format("a.py", "from keras.layers import Dense, Foobar"), "keras.layers.Foobar"),
        (FRAME.format("a.py", "from tensorflow.keras.layers import ("), "tensorflow.keras.layers.Foobar"),
        ("----> 2 from keras.models import Foobar\n      3 from keras.layers import Dense\n\n",
         "keras.models.Foobar"),
        ("from keras.layers import Dense\nfrom keras.models import Foobar\n", "keras.models.Foobar"),
    ],
)  # fmt: skip
def test_the_module_is_that_of_the_failing_line(before, shown):
    assert f"has {shown}." in texts(f"{before}ImportError: cannot import name 'Foobar'")


@pytest.mark.parametrize(
    "before",
    [
        "    from keras.layers import Dense\n    from somewhere import Foobar\n",
        FRAME.format("a.py", "from keras.layers import Foobar")
        + FRAME.format(KERAS_FILE, "from .other import Foobar"),
        FRAME.format("a.py", "from keras.layers import Foobar") + FRAME.format("b.py", "import other"),
    ],
)
def test_an_earlier_line_is_not_the_failing_one(before):
    assert "keras.layers" not in texts(f"{before}ImportError: cannot import name 'Foobar'")


def test_a_name_cut_by_a_line_wrap_is_put_together():
    told = texts("ModuleNotFoundError: No module named 'tensorflow.python.keras.engine.base_layer_\nv1'")
    assert "tensorflow.python.keras.engine.base_layer_v1 since 2." in told


def test_a_word_of_the_next_sentence_is_no_name():
    assert texts("Module 'tensorflow' has no attribute\nusing TensorFlow 1.4 on Windows") == ""


def test_an_old_tensorflow_below_a_newer_keras_gets_the_older_keras():
    told = texts(
        FRAME.format(KERAS_FILE, "from tensorflow.python.keras.utils import tf_utils")
        + "ImportError: cannot import name 'tf_utils'"
    )
    assert "tensorflow.python.keras.utils.tf_utils since 1.9" in told
    assert "install the keras from the time of your TensorFlow" in told


def test_a_version_in_the_text_that_is_older_than_the_name_is_not_called_newer():
    told = texts(
        "pip install https://acme.org/tensorflow-0.9.0-cp27-none-linux_x86_64.whl\n"
        + FRAME.format("a.py", "s = tf.summary.FileWriter(d)")
        + "AttributeError: 'module' object has no attribute 'FileWriter'"
    )
    assert "which is older" in told
    assert "newer" not in told
    assert "compat.v1" not in told


def test_a_version_in_the_text_that_has_the_name_is_not_called_another_one():
    told = texts(
        "keras==2.0.2\nfrom keras.utils import multi_gpu_model\n"
        "ImportError: cannot import name 'multi_gpu_model'"
    )
    assert "the text names keras==2.0.2" in told
    assert "later patch" in told
    assert "newer" not in told


def test_names_of_a_module_whose_names_are_recorded_later_do_not_begin_there():
    told = texts("AttributeError: module 'tensorflow.summary' has no attribute 'FileWriter'")
    assert "tensorflow.summary.FileWriter up to 1.15" in told
    assert "older than" not in told


def test_a_name_before_1_without_its_module_has_its_replacement():
    assert "`tf.summary.image`" in texts("AttributeError: 'module' object has no attribute 'image_summary'")


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_replaced_name_is_one_of_a_release(name):
    module, _, last = name.rpartition(".")
    where = presence(module, last).spans or presence(name).spans
    assert bool(where) is (name in TABLES["names"])


@pytest.mark.parametrize("instead", sorted(set(REPLACEMENTS.values())))
def test_replacements_exist_or_say_until_when(instead):
    for name in NAME.findall(instead):
        module, _, last = re.sub(r"^tf\b", "tensorflow", name).rpartition(".")
        where = presence(module, last)
        assert where.is_current or str(where).rpartition(" ")[2] in instead, name
