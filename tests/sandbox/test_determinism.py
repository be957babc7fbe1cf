"""The same script gives the same stream, byte for byte, in any process and at any time of the host."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from freezegun import freeze_time

from sandbox import Domain, World
from sandbox.values import digest
from tests.sandbox import desk
from tests.sandbox.taped import played

ROOT = Path(__file__).parents[2]


def fingerprint() -> str:
    """Digest of all that a trial of the script puts down, of what an agent is told, and of the domain."""
    records = msgspec.msgpack.encode([record.body for record in played().records])
    told = msgspec.json.encode([[tool.name, tool.spec.description, tool.schema] for tool in desk.domain.tools.values()])
    return digest(records, told, desk.domain.digest.encode(), desk.domain.snapshot.digest.encode()).hex()


def fingerprint_of_another_process(hash_seed: str) -> str:
    code = "from tests.sandbox.test_determinism import fingerprint; print(fingerprint())"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Asia/Kathmandu", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def test_processes_with_other_hash_seeds_and_time_zones_give_the_same_stream() -> None:
    assert fingerprint_of_another_process("1") == fingerprint_of_another_process("4242") == fingerprint()


@pytest.mark.parametrize("host_time", ["1999-12-31 23:59:59", "2041-06-01 12:00:00"])
def test_a_host_that_is_years_away_gives_the_same_stream(host_time: str) -> None:
    now = fingerprint()
    with freeze_time(host_time):
        assert datetime.now(UTC).year == int(host_time[:4])
        assert fingerprint() == now


def texts() -> Iterator[str]:
    """All that an agent gets to read in the script's trial, made while the host's clock is in 2041."""
    domain = Domain("desk", *desk.domain.mounts, seed=desk.SEED)
    yield domain.instructions
    for tool in domain.tools.values():
        yield tool.spec.description
        yield msgspec.json.encode(tool.schema).decode()
    for record in played().records:
        yield record.time
        yield msgspec.json.encode(msgspec.msgpack.decode(record.payload)).decode()
    yield World(domain, domain.snapshot, desk.START).now


def test_no_text_holds_the_year_of_the_host() -> None:
    with freeze_time("2041-06-01 12:00:00"):
        told = list(texts())
    assert any("2025" in text for text in told)
    assert not [text for text in told if "2041" in text]


def test_a_call_leaves_its_result_alone_when_it_is_repeated_in_another_world() -> None:
    first, second = played(), played()
    assert [record.body for record in first.records] == [record.body for record in second.records]
    assert first.records[-1].digest == second.records[-1].digest
