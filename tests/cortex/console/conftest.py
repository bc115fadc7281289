"""A real Chromium for the tests of the console, one for each test file. `make browser` sees that there is one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

INSTALL = "no Chromium: make browser installs it where it can, or apt-get install chromium"
# Names below .example resolve to this machine, as a stranger's name may at any time (DNS rebinding).
ARGUMENTS = ["--host-resolver-rules=MAP *.example 127.0.0.1", "--disable-gpu", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    """A browser; skipped where there is no Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip(INSTALL)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def new_tab(chromium) -> Iterator[Callable]:
    """Makes pages, each in a profile of its own, as a fresh browser has it. They do not wait for long."""
    contexts = []

    def make(**options):
        contexts.append(chromium.new_context(**options))
        contexts[-1].set_default_timeout(15_000)
        return contexts[-1].new_page()

    yield make
    for one in contexts:
        one.close()
