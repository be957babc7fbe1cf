"""Campaigns that are exported, made once, and what others read exports with."""

from pathlib import Path

import pytest

from replay.seal import seal
from sandbox.stream import Store
from tests.replay.exports import campaigns
from tests.replay.exports.readers import Readers


@pytest.fixture(scope="session")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `campaigns.odd`."""
    return campaigns.odd(tmp_path_factory.mktemp("odd") / "odd.db")


@pytest.fixture(scope="session")
def unjudged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `campaigns.unjudged`."""
    return campaigns.unjudged(tmp_path_factory.mktemp("unjudged") / "unjudged.db")


@pytest.fixture(scope="session")
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See `campaigns.modelled`."""
    return campaigns.modelled(tmp_path_factory.mktemp("modelled"))


@pytest.fixture(scope="session")
def redacted(odd: Path) -> Path:
    """The odd campaign, sealed without its texts."""
    output = odd.with_name("odd.sealed")
    with Store.open(odd, read_only=True) as store:
        seal(store, output, redact_texts=True)
    return output


@pytest.fixture(scope="session")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Readers:
    """What others read exports with; where it is not installed the test is skipped."""
    return Readers.installed(tmp_path_factory.mktemp("readers"))
