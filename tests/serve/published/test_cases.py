"""The tables as a whole: how many cases there are, and that the documentation names every deviation."""

from __future__ import annotations

from collections import Counter

from tests.serve.published.cases import DEVIATIONS, FOLDER, rows

DOCUMENT = FOLDER.parents[2] / "docs" / "commands" / "serve.md"
TABLES = {file.name: rows(file.name) for file in sorted(FOLDER.glob("*.toml"))}


def test_every_deviation_is_documented_and_occurs():
    text = " ".join(DOCUMENT.read_text().split())
    assert [name for name, words in DEVIATIONS.items() if words not in text] == []
    occurring = {row["deviates"] for table in TABLES.values() for row in table if "deviates" in row}
    assert occurring == set(DEVIATIONS)


def test_the_document_states_how_many_cases_are_as_in_tensorflow_serving():
    total = sum(map(len, TABLES.values()))
    same = total - sum("deviates" in row for table in TABLES.values() for row in table)
    assert f"{same} of {total} published cases" in DOCUMENT.read_text()


def test_names_are_unique():
    for file, table in TABLES.items():
        counts = Counter(row["name"] for row in table)
        assert [name for name, count in counts.items() if count > 1] == [], file
