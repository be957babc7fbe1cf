"""Which stored trial a person means."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from judges.naming import has_ended, key_named
from sandbox.archive import Archive
from sandbox.records import Chain, TrialKey, decoded, draft
from sandbox.refusals import UserFault
from sandbox.stream import Store
from tests.replay.looking import RETAIL, TRIAL, stored


@pytest.fixture
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """A closed trial, and a second attempt at it that has just begun."""
    with Store.open(stored(tmp_path_factory.mktemp("naming") / "c.db")) as store:
        archive = Archive(store, RETAIL)
        first = key_named(archive, TRIAL)
        record = store.read(first.id, upto=1)[0]
        second = replace(first, attempt=2)
        opened = replace(decoded(record), key=second)
        assert store.append([(second.id, Chain(second.id).sealed([draft(opened, record.time)], b""))]) == [None]
        yield archive


def both(archive: Archive) -> list[TrialKey]:
    first = key_named(archive, TRIAL, closed=True)
    return [first, replace(first, attempt=2)]


def test_task_and_repetition_name_the_last_attempt_or_the_last_that_has_ended(archive: Archive) -> None:
    first, second = both(archive)
    assert (has_ended(archive.store, first), has_ended(archive.store, second)) == (True, False)
    assert key_named(archive, TRIAL) == second
    assert key_named(archive, TRIAL, closed=True) == first


def test_an_id_names_its_trial_however_it_is_written(archive: Archive) -> None:
    for key in both(archive):
        for name in (str(key.id), key.id.hex, str(key.id)[:13].upper()):
            assert key_named(archive, name) == key


@pytest.mark.parametrize("name", ["", "-", "stuck-warranty", "stuck-warranty/1", "zz"])
def test_what_names_no_trial_is_refused(archive: Archive, name: str) -> None:
    with pytest.raises(UserFault, match=r"no trial .*; name it by the beginning of its id, or as TASK/REPETITION"):
        key_named(archive, name)
