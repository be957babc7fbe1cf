"""The file of the read models is a convenience: whatever is wrong with it, no command breaks and no number is wrong."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judges.campaigns import scores_of
from sandbox.store_file import is_store
from sandbox.stream import Store
from sandbox.view_rows import EffectsRow
from sandbox.views import Views, ViewsFault
from tests.disks import small_disk
from trialbox import main

RUN = ["run", "probe", "--agent", "oracle", "-k", "1"]
ROW = EffectsRow("e", "d", b"content")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.views.db"


def fill(path: Path) -> None:
    with closing(Views(path)) as views:
        views.add([EffectsRow(str(number), "d", bytes(4000)) for number in range(20)])


def overwrite(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 400)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def scribble(path: Path) -> None:
    """The header is left whole; a name in the schema is no text any more."""
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"\xff\xfe\xfd\xfc\xff\xff TABLE"))


def block(path: Path) -> None:
    """SQLite cannot make its journal, as in a folder that may only be read."""
    path.with_name(f"{path.name}-journal").mkdir()


def remove_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("")


def turn_into_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [overwrite, cut, scribble])
def test_a_damaged_file_is_replaced(path: Path, harm: object) -> None:
    fill(path)
    harm(path)  # type: ignore[operator]
    with closing(Views(path)) as views:
        assert (views.is_new, views.path) == (True, path)
        views.add([ROW])
    with closing(Views(path)) as views:
        assert (views.is_new, views.effects("e")) == (False, [ROW])


@pytest.mark.parametrize("harm", [block, remove_folder, turn_into_folder])
def test_where_no_file_can_be_used_the_tables_are_in_memory(tmp_path: Path, harm: object) -> None:
    path = tmp_path / "folder" / "c.views.db"
    path.parent.mkdir()
    fill(path)
    harm(path)  # type: ignore[operator]
    with closing(Views(path)) as views:
        assert (views.is_new, views.path) == (True, None)
        views.add([ROW])
        assert views.effects("e") == [ROW]
    with closing(Views(path)) as views:
        assert views.effects("e") == []


@pytest.mark.parametrize("harm", [overwrite, cut, block, turn_into_folder])
def test_the_numbers_are_the_same_whatever_became_of_the_file(tmp_path: Path, path: Path, harm: object) -> None:
    store = tmp_path / "c.db"
    assert main([*RUN, "-o", str(store)]) == 0
    before = scores_of(store)
    harm(path)  # type: ignore[operator]
    assert scores_of(store) == before
    assert main([*RUN, "-o", str(store)]) == 0
    assert scores_of(store) == before


def test_a_file_of_another_name_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ada, " * 100)
    with closing(Views(path)) as views:
        assert (views.is_new, views.path) == (True, None)
    assert path.read_text() == "Dear Ada, " * 100


def test_a_store_where_read_models_would_be_is_left_alone(path: Path) -> None:
    Store.open(path, create=True).close()
    before = path.read_bytes()
    with pytest.raises(ViewsFault, match=r"c\.views\.db: is a store, where another store's read models would be"):
        Views(path)
    assert path.read_bytes() == before
    assert is_store(path)


@pytest.mark.parametrize("name", ["a?mode=ro.views.db", "a#b.views.db", "a b%20c.views.db"])
def test_a_path_is_a_path_and_no_options(tmp_path: Path, name: str) -> None:
    with closing(Views(tmp_path / name)) as views:
        views.add([ROW])
    assert [item.name for item in tmp_path.iterdir()] == [name]


def test_a_file_that_another_process_keeps_locked_is_told_and_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    connect = sqlite3.connect
    with closing(connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more | {"timeout": 0}))
        with pytest.raises(ViewsFault, match=r"c\.views\.db: these read models cannot be used: database is locked"):
            Views(path)
    with closing(Views(path)) as views:
        assert not views.is_new


def test_a_disk_that_fills_up_leaves_no_file_that_looks_complete(path: Path) -> None:
    fill(path)
    with closing(Views(path)) as views:
        with small_disk(path.stat().st_size), pytest.raises(ViewsFault, match="rebuild them with: trialbox rebuild"):
            views.add([EffectsRow("large", "d", bytes(1_000_000))])
        assert not path.exists()
    with closing(Views(path)) as views:
        assert views.is_new


def test_a_page_that_is_damaged_is_told_and_a_rebuild_mends_it(path: Path) -> None:
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with closing(Views(path)) as views:
        with pytest.raises(ViewsFault, match=r"c\.views\.db: these read models cannot be used: .*malformed"):
            views.trials()
        views.clear()
        views.add([ROW])
        assert (views.trials(), views.effects("e")) == ([], [ROW])
    with closing(Views(path)) as views:
        assert views.effects("e") == [ROW]
