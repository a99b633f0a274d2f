"""A real browser on a running `tfport ui`: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.opened_page import OpenedPage
from tests.browser.sample_models import dense_scope, hostile_graph, long_edges
from tests.browser.views import EXAMPLES
from tests.frontends.keras.files import write_h5
from tests.recorded_models import MODELS
from tests.scan.test_graph_risks import NAME, X, saved_model
from tests.web.ui_client import UiClient, running

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser; tests are skipped without it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Models that tests write themselves."""
    folder = tmp_path_factory.mktemp("samples")
    hostile_graph(folder / "hostile.pb")
    long_edges(folder / "long_edges.pb")
    dense_scope(folder / "dense_scope.pb")
    write_h5(folder / "small.h5")
    (folder / "reads_file").mkdir()
    saved_model(folder / "reads_file", X + NAME + "y = ReadFile(f)")
    (folder / "truncated.pb").write_bytes((folder / "hostile.pb").read_bytes()[:-7])
    return folder


@pytest.fixture(scope="session")
def ui(sample_folder: Any) -> Iterator[UiClient]:
    with running(allow=(str(MODELS), str(sample_folder), str(EXAMPLES)), most_open=20) as client:
        yield client


@pytest.fixture
def opened(chromium: Any, ui: UiClient) -> Iterator[OpenedPage]:
    """A page on the server; anything that the browser complains about fails the test."""
    page = OpenedPage(chromium, ui)
    yield page
    page.close()
    assert page.complaints == []
