"""All rules have a name, a description and cases; rules can come from a user's file."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fix.rule_cases import case_modules
from tests.recorded_models import OPS

from tfport.errors import Error
from tfport.fix.rule import ANY, EXACT, HOW_TO_DECLARE, RULES, Rulebook, all_rules, rules_of_file

ALL = all_rules()
FAMILIES = [importlib.import_module(module) for module in case_modules()]
RUN_BY_NOBODY = (
    "as_call", "as_if", "as_while",
    "gradient_for_its_sizes", "gradient_for_sizes_of_filter", "volume_gradient_for_its_sizes",
)  # fmt: skip
"""No CPU has kernels for what these replace; their families look at what they make."""
OF_TFJS = ("FusedDepthwiseConv2dNative",)
OWN_FILE = '''
from tfport.fix.rule import EXACT, refuse, rule

@rule("Acme>Twice", keeps=EXACT)
def added_to_itself(op, n):
    """Twice is a sum."""
    return op.Add(n.inputs[0], n.inputs[0])
'''


def test_names_are_their_own():
    names = [rule.name for rule in ALL]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_a_rule_says_in_a_sentence_what_it_does_to_ops_that_there_are(rule):
    assert rule.says[0].isupper() or not rule.says[0].isalpha()
    assert rule.says.endswith(".")
    assert len(rule.says) <= 160
    for op in rule.ops:
        assert op in (ANY, *OF_TFJS) or OPS.get(op) is not None, op


@pytest.mark.parametrize(
    "rule", [rule for rule in ALL if rule.name not in RUN_BY_NOBODY], ids=lambda rule: rule.name
)
def test_a_rule_has_cases(rule):
    assert any(c.rule is rule for family in FAMILIES for c in getattr(family, "CASES", ()))


@pytest.mark.parametrize(
    "rule", [rule for rule in ALL if "refuse(" in inspect.getsource(rule.make)], ids=lambda rule: rule.name
)
def test_a_rule_that_refuses_is_seen_to(rule):
    texts = [Path(family.__file__).read_text() for family in FAMILIES]
    assert any(rule.name in text and ("assert_refuses" in text or "Refusal" in text) for text in texts)


def test_rules_for_an_op_come_before_those_for_any():
    book = Rulebook((), RULES)
    rules = book.of("AddV2")
    assert rules[0].ops == ("AddV2",)
    assert [ANY in rule.ops for rule in rules] == sorted(ANY in rule.ops for rule in rules)


def test_a_file_of_rules_is_run_and_its_rules_found(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(OWN_FILE)
    (own,) = rules_of_file(str(path))
    assert (own.name, own.ops, own.keeps) == ("added_to_itself", ("Acme>Twice",), EXACT)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "expected a Python file with rules"),
        ("x = 1", "declares no rule"),
        ("def f(:", "SyntaxError"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
    ],
)
def test_errors_in_a_file_of_rules_are_reported(tmp_path, text, says):
    path = tmp_path / "my_rules.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Error, match=says) as error:
        rules_of_file(str(path))
    assert str(path) in str(error.value)


def test_the_advice_for_a_file_without_rules_works_as_it_is_written(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text("x = 1")
    with pytest.raises(Error) as raised:
        rules_of_file(str(path))
    assert HOW_TO_DECLARE in str(raised.value)
    importing, decorator = re.findall("`(.*?)`", HOW_TO_DECLARE)
    path.write_text(f"{importing}\n\nOPS = 'Acme>Twice'\n\n{decorator}\ndef f(op, n): return n.inputs[0]\n")
    (declared,) = rules_of_file(str(path))
    assert declared.ops == ("Acme>Twice",)


def test_rules_of_a_file_are_not_added_to_those_of_tfport(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(OWN_FILE)
    rules = rules_of_file(str(path))
    assert not RULES.of("Acme>Twice")
    assert Rulebook(rules, RULES).of("Acme>Twice")[0] is rules[0]


def test_the_rules_of_an_op_do_not_depend_on_which_modules_were_imported_before():
    script = """
import sys
from tfport.fix.rule import RULES
from tfport.fix.rule import Rulebook
for op in sys.argv[1:]:
    names = [rule.name for rule in Rulebook((), RULES).of(op)]
print(" ".join(names))
"""
    orders = [
        subprocess.run(
            [sys.executable, "-c", script, *ops], capture_output=True, text=True, check=True
        ).stdout
        for ops in (["SparseSegmentMean"], ["SparseToDense", "Roll", "SparseSegmentMean"])
    ]
    assert orders[0] == orders[1] != ""
