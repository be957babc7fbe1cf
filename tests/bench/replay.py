"""What it costs to execute a trial again, and to judge a campaign again whose trials all left something else."""

import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from timeit import repeat

from judges.expectation import Accepted, Expectation, GoldenCall
from judges.pack import PackTask
from judges.read_models import views_path
from replay.prove import prove
from replay.rejudge import Filed, Rehearing
from replay.rejudge_command import Today, heard_again
from sandbox.archive import Archive
from sandbox.campaign import Campaign
from sandbox.effects import effects_digest
from sandbox.projection import trial_rows
from sandbox.records import Chain, Draft, Record, Said, TrialEnded, TrialKey, TrialOpened, draft
from sandbox.stream import Store
from sandbox.task import Task, UserContext
from sandbox.values import canonical, digest
from sandbox.views import Views
from sandbox.world import Request, World
from tests.bench import Line
from tests.judges.shop import START, Script, domain, edit, refunded

ALL = 100_000
STORED = 5_000
"""Trials of the campaign that is judged again as a whole; stated as a share of `ALL`."""
LEAST_PER_S = 50_000
MOST_MS = 2.0
TASK = Task("t", "shop", START, "One of my mugs is broken.")
CALLS = 8
"""Of each trial, seven of them writing: 26 records."""


def measure() -> list[Line]:
    """All lines; takes about half a minute."""
    return [_executed_again(), *_judged_again()]


def script(number: int) -> Script:
    """Seven writes and a read; every trial refunds another amount."""
    status = [edit("orders", "ORD-1", status=name) for name in ("hold", "packed", "sent", "lost", "open")]
    return [("get_order", {"id": "ORD-1"}), refunded(amount=number / 100), *status, edit("orders", "ORD-2", total=3.5)]


def expectation(number: int) -> Expectation:
    """The outcome that one of the trials has left."""
    return Expectation(
        (Accepted("golden", tuple(GoldenCall(f"shop_{tool}", given) for tool, given in script(number))),)
    )


def trial(repetition: int) -> tuple[TrialKey, list[Record], World]:
    """A closed trial, made without a client and without waiting."""
    key, snapshot = TrialKey("bench", TASK.id, repetition, 1), domain.snapshot
    world, chain, records = World(domain, snapshot, START), Chain(key.id), list[Record]()

    def put(drafts: list[Draft] | tuple[Draft, ...]) -> None:
        sealed = chain.sealed(drafts, b"")
        chain.advance(sealed)
        records.extend(sealed)

    layers = tuple(layer.digest for layer in snapshot.layers)
    opened = TrialOpened(key, domain.name, "bench", START, TASK.digest, layers, domain.digest, "", "0")
    put([draft(opened, START), draft(Said("user", TASK.goal), START)])
    for tool, given in script(repetition):
        decision = world.decide(Request(f"shop_{tool}", canonical(given).decode()))
        world.apply(decision, chain.position + 1)
        put(decision.drafts)
    put([draft(TrialEnded("done", effects_digest(world.effects)), world.now)])
    return key, records, world


def _executed_again() -> Line:
    key, records, _ = trial(25)
    times = repeat(lambda: prove(domain, TASK, domain.snapshot, key, records), number=20, repeat=5)
    took_ms = min(times) / 20 * 1e3
    name = f"re-execution of a trial of {len(records)} records, {CALLS} calls"
    return Line(name, f"{took_ms:.2f} ms", f"at most {MOST_MS:.0f} ms", took_ms <= MOST_MS)


def _judged_again() -> Iterator[Line]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        contents = _stored(path)
        yield _judgements(path, contents)
        scale = f"{STORED:,} of {ALL:,} trials".replace(",", " ")
        yield _whole(f"rejudge, never judged before, {scale}", path, 5, is_dry=False)
        yield _whole(f"rejudge, dry, another golden, {scale}", path, 6, is_dry=True)
        yield _whole(f"rejudge, another golden, {scale}", path, 6, is_dry=False)


def _stored(path: Path) -> dict[str, bytes]:
    """A campaign in a file with its read models; the encoded effects by digest."""
    contents: dict[str, bytes] = {}
    with Store.open(path, create=True) as store, closing(Views(views_path(path))) as views:
        Campaign(store, "bench", domain, [TASK], STORED, "bench")
        made = map(trial, range(STORED))
        while batch := list(islice(made, 500)):
            store.append([(key.id, records) for key, records, _ in batch])
            rows = [trial_rows(key, records, world.effects, domain.digest) for key, records, world in batch]
            contents.update((left.digest, left.content) for _, left in rows)
            views.add(row for pair in rows for row in pair)
    return contents


def _judgements(path: Path, contents: dict[str, bytes]) -> Line:
    """From encoded effects to verdicts, as the command does it, on one core."""
    with Store.open(path, read_only=True) as store:
        rehearing = Rehearing(Archive(store, domain), {TASK.id: expectation(5)})
        rehearing.verdict(TASK.id, Filed({"effects": "first"}, next(iter(contents.values()))))
        passed, started = 0, time.process_time()
        for name, content in contents.items():
            assert digest(content).hex() == name
            passed += rehearing.verdict(TASK.id, Filed({"effects": name}, content)).result == "pass"
        rate = len(contents) / (time.process_time() - started)
    assert (passed, len(contents)) == (1, STORED)
    told, target = f"{rate:,.0f} a second", f"≥ {LEAST_PER_S:,} a second"
    return Line("judgements from stored effects, all differ, all but one fail", told, target, rate >= LEAST_PER_S)


def _whole(name: str, path: Path, golden: int, *, is_dry: bool) -> Line:
    today = Today(domain, {TASK.id: PackTask(TASK, UserContext(TASK.id), expectation(golden))})
    started = time.perf_counter()
    found = heard_again(path, today, is_dry=is_dry)
    took_s = time.perf_counter() - started
    assert len(found.trials) == STORED
    return Line(name, f"{took_s:.1f} s ({took_s / STORED * 1e6:.0f} µs a trial)", "", None)
