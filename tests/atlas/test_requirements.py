"""Requirements files, as pip reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.error_messages import reads_or_raises_one_line

from tfport.atlas.requirements import RequirementsReader, parse_requirement, read_requirements
from tfport.errors import UnreadableFile

LINES = [  # text                                                      what it asks for
    ("tensorflow==2.8.4",                                              "tensorflow==2.8.4"),
    ("TensorFlow==2.8.4  # pinned for the server",                     "tensorflow==2.8.4"),
    ("# a comment\n\n  tensorflow >= 2.4 , < 2.9\n",                   "tensorflow<2.9,>=2.4"),
    ("tensorflow==2.8.4 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n", "tensorflow==2.8.4"),
    ("tensorflow[and-cuda]==2.15.0",                                   "tensorflow==2.15.0"),
    ("--index-url https://example.org/simple\n-f wheels\ntensorflow",  "tensorflow"),
    ("-e .\n./local\ngit+https://example.org/x.git#egg=x\ntensorflow", "tensorflow"),
    ("tensorflow @ https://example.org/tensorflow-2.8.4-cp38-cp38-linux_x86_64.whl", "tensorflow==2.8.4"),
    ("./wheels/tensorflow-2.8.4-cp38-cp38-linux_x86_64.whl",           "tensorflow==2.8.4"),
    ("tensorflow==2.8.4; sys_platform == 'linux'",                     "tensorflow==2.8.4"),
    ("tensorflow-macos==2.8; sys_platform == 'darwin'\ntensorflow==2.8", "tensorflow==2.8"),
    ("tensorflow_text==2.8.2",                                         "tensorflow-text==2.8.2"),
]  # fmt: skip
BROKEN = [  # text                     the sentence
    ("numpy\ntensorflow=2.8", "line 2: 'tensorflow=2.8' is not a requirement: "),
    ("tensorflow==2.8 and more", "line 1: 'tensorflow==2.8 and more' is not a requirement: "),
    (f"tensorflow=={'9' * 200}", "is not a requirement: it, or a number in it, is too long"),
    ("-r missing.txt", "missing.txt: no such file or directory"),
]


@pytest.mark.parametrize(("text", "wanted"), LINES, ids=[row[0] for row in LINES])
def test_lines(text, wanted):
    listing = RequirementsReader().read("requirements.txt", text)
    assert [requirement.text for requirement in listing.wanted] == [wanted]


@pytest.mark.parametrize(("text", "sentence"), BROKEN, ids=[row[0][:30] for row in BROKEN])
def test_an_error_names_the_line(text, sentence, tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    with pytest.raises(UnreadableFile) as raised:
        read_requirements(str(file))
    assert sentence in str(raised.value)


def test_included_files_and_constraints(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "requirements.txt").write_text("-r base/gpu.txt\n-c constraints.txt\nnumpy\n")
    (tmp_path / "base/gpu.txt").write_text("--requirement=../requirements.txt\ntensorflow>=2.4\n")
    (tmp_path / "constraints.txt").write_text("tensorflow<2.9\nscipy==1.0\n")
    listing = read_requirements(str(tmp_path / "requirements.txt"))
    assert [requirement.text for requirement in listing.wanted] == ["tensorflow<2.9,>=2.4", "numpy"]


def test_skipped_lines_for_another_system_are_noted():
    text = "tensorflow==2.8.4; sys_platform == 'linux'\ntensorflow==2.4.1; sys_platform == 'win32'\n"
    listing = RequirementsReader().read("r.txt", text)
    assert [requirement.text for requirement in listing.wanted] == ["tensorflow==2.8.4"]
    assert listing.notes == ["r.txt: lines for another system or Python are skipped (tensorflow)"]


def test_utf_16_from_a_windows_shell_is_read(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("tensorflow==2.8.4\r\n", encoding="utf-16")
    assert [requirement.text for requirement in read_requirements(str(file)).wanted] == ["tensorflow==2.8.4"]


@given(st.text() | st.text(alphabet="tensorflow=<>~!,;[]@ \\\n\"'-.#2:/rc"))
def test_any_text_gives_a_list_or_an_error(text):
    with reads_or_raises_one_line():
        RequirementsReader().read("no/where.txt", text)
    with reads_or_raises_one_line():
        parse_requirement(text)
