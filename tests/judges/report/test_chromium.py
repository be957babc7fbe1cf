"""The page opens in a browser that has no network: no errors, no requests, and all tables are there."""

import subprocess
from pathlib import Path

import pytest

from judges.report.folder import write_report
from tests.judges.report.studies import hostile_report

CHROMIUM = Path("/usr/bin/chromium")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *(
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ),
    *("--enable-logging=stderr", "--virtual-time-budget=5000"),
)

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no /usr/bin/chromium; try: apt-get install chromium")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("page")
    write_report(hostile_report(), folder / "r")
    return subprocess.run(
        [
            *(str(CHROMIUM), *OPTIONS, f"--user-data-dir={folder / 'profile'}"),
            *("--window-size=360,800", "--dump-dom", (folder / "r" / "index.html").as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def test_the_browser_shows_title_and_tables(opened: subprocess.CompletedProcess[str]) -> None:
    assert "<title>&lt;script&gt;title&lt;/script&gt;</title>" in opened.stdout
    for told in (
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "Leaderboard",
        "Best of n, every one of n, retention",
        "$x^2$",
    ):
        assert told in opened.stdout


def test_the_console_is_silent(opened: subprocess.CompletedProcess[str]) -> None:
    assert [line for line in opened.stderr.splitlines() if "CONSOLE" in line] == []


def test_no_text_became_an_element(opened: subprocess.CompletedProcess[str]) -> None:
    assert "<script" not in opened.stdout
    assert "<i>retail" not in opened.stdout
