"""A pattern such as `runs/*.db` names read models and keyframes too: beside stores they are left out."""

import shutil
from pathlib import Path

import pytest

from judges.read_models import views_path
from judges.store_paths import NotAStore, stores_among
from tests.judges.metrics.stores import ran
from trialbox import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with its read models, and keyframes."""
    made = tmp_path_factory.mktemp("runs")
    ran(made / "c.db")
    (made / "c.frames.db").write_bytes(b"SQLite format 3\0")
    return made


@pytest.mark.parametrize(
    "command",
    [
        ["stats"],
        ["failures"],
        ["reliability"],
        ["power"],
        ["report", "-o", "report"],
        ["export", "inspect", "-o", "logs"],
        ["rejudge"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_on_several_stores_takes_a_pattern(
    command: list[str],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = sorted(map(str, folder.glob("*.db")))
    assert [Path(path).name for path in paths] == ["c.db", "c.frames.db", "c.views.db"]
    assert main([*command, *paths]) == 0
    assert capsys.readouterr().err == ""


def test_given_alone_it_is_said_what_a_file_is_and_of_which_store(folder: Path) -> None:
    store = folder / "c.db"
    told = f"{views_path(store)} holds the read models of {store}, and no trials; give {store}"
    with pytest.raises(NotAStore) as fault:
        stores_among([views_path(store)])
    assert str(fault.value) == told
    with pytest.raises(NotAStore, match=r"c.frames.db holds the keyframes of .*c\.db, and no trials"):
        stores_among([folder / "c.frames.db"])


def test_a_store_that_is_called_so_is_one(folder: Path, tmp_path: Path) -> None:
    store = Path(shutil.copy(folder / "c.db", tmp_path / "mine.views.db"))
    assert stores_among([store, folder / "c.db"]) == [store, folder / "c.db"]


def test_a_store_without_the_usual_ending_is_named_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"a store")
    (tmp_path / "c.views.db").write_bytes(b"")
    with pytest.raises(NotAStore, match=r"the read models of .*/c, and no trials"):
        stores_among([tmp_path / "c.views.db"])


def test_a_path_where_nothing_is_stays_and_is_named_later(tmp_path: Path) -> None:
    assert stores_among([tmp_path / "nothing.views.db"]) == [tmp_path / "nothing.views.db"]
