"""`trialbox replay`: whether today's tools still give what was recorded."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from judges.court import ensure_ended
from judges.lines import cut, shown
from replay.printing import say
from replay.prove import ReplayDiffers, Version, prove
from replay.trials import closed_forks, trial_named
from sandbox.archive import Archive, domain_of
from sandbox.fold import UnknownTopic
from sandbox.records import Record, TrialKey
from sandbox.stream import Store

MOST_PLACES = 5
"""Differing values that a block names."""


class Replayed(Struct, frozen=True):
    """One trial, executed again."""

    key: TrialKey
    calls: int
    """That gave the same again, up to the first difference."""
    difference: ReplayDiffers | None = None
    fault: str = ""
    """Why its stream cannot be read with today's domain."""

    @property
    def is_same(self) -> bool:
        """Whether every record was given again."""
        return self.difference is None and not self.fault


def add_to(commands: Any) -> None:
    """`replay`."""
    replaying = commands.add_parser("replay", help="execute recorded calls again, and name the first that differs")
    replaying.add_argument("store", type=Path, help="a campaign's store")
    replaying.add_argument("trial", nargs="?", help="the beginning of its id, or TASK/REPETITION (default: all)")
    replaying.add_argument("--json", action="store_true", help="the report as JSON")
    replaying.set_defaults(run=_replay)


def _replay(options: argparse.Namespace) -> int:
    with Store.open(options.store, read_only=True) as store:
        archive = Archive(store, domain_of(store))
        found = [replayed(archive, key, records) for key, records in _chosen(archive, options.trial)]
    differing = [one for one in found if not one.is_same]
    if options.json:
        print(json.dumps(as_values(found), indent=2))
    elif options.trial and differing:
        say(block(differing[0]))
    else:
        calls = sum(one.calls for one in found)
        total = f"{len(found)} trials, {calls} calls executed again; {len(differing)} of the trials differ"
        say([*map(line, differing), total])
    return 1 if differing else 0


def _chosen(archive: Archive, name: str | None) -> Iterator[tuple[TrialKey, list[Record]]]:
    if name is not None:
        trial = trial_named(archive, name)
        yield trial.key, trial.records
        return
    ensure_ended(archive.store)
    yield from archive.closed()
    yield from ((fork.key, fork.records) for fork in closed_forks(archive))


def replayed(archive: Archive, key: TrialKey, records: list[Record]) -> Replayed:
    """A trial of a store, executed again with the snapshot and the tools that were sealed with it."""
    try:
        calls = prove(archive.domain, archive.tasks[key.task], archive.snapshots[key.task], key, records)
    except ReplayDiffers as difference:
        return Replayed(key, difference.calls, difference)
    except UnknownTopic as unknown:
        return Replayed(key, 0, fault=str(unknown))
    return Replayed(key, calls)


def line(one: Replayed) -> str:
    """A trial in one line."""
    at = f"{cut(one.key.task)}/{one.key.repetition}, attempt {one.key.attempt}, trial {str(one.key.id)[:8]}"
    if one.fault:
        return f"{at}: cannot be read: {shown(one.fault)}"
    if one.difference is None:
        return f"{at}: the same"
    topic = (one.difference.recorded or one.difference.now or _NOTHING).topic
    return f"{at}: differs at record {one.difference.position} ({topic})"


def block(one: Replayed) -> list[str]:
    """The first difference of a trial, both versions of it."""
    if one.difference is None:
        return [line(one)]
    found = one.difference
    told = [f"trial {one.key.id} ({line(one).partition(', trial')[0]}) differs at record {found.position}"]
    if found.broke:
        told.append(f"  {shown(found.broke)}")
    for label, version in (("recorded", found.recorded), ("now", found.now)):
        told.append(f"  {label:9} {_head(version)}")
    if found.recorded is not None and found.now is not None:
        places = list(differing_places(found.recorded.payload, found.now.payload))
        for place, before, after in places[:MOST_PLACES]:
            told.append(f"  {place}: recorded {shown(before)}, now {shown(after)}")
        if len(places) > MOST_PLACES:
            told.append(f"  and {len(places) - MOST_PLACES} more values")
    return told


_NOTHING = Version("nothing", "", 0, None)


def _head(version: Version | None) -> str:
    if version is None:
        return "nothing"
    cause = f" by call {version.cause}" if version.cause else ""
    return f"{version.topic} at {version.time}{cause} {shown(version.payload)}"


def differing_places(before: Any, after: Any, at: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """Each value that differs: where it is, and both versions; UNSET for what is not there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            found, now = before.get(name, msgspec.UNSET), after.get(name, msgspec.UNSET)
            yield from differing_places(found, now, f"{at}.{name}")
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            found, now = (side[place] if place < len(side) else msgspec.UNSET for side in (before, after))
            yield from differing_places(found, now, f"{at}[{place}]")
    elif type(before) is not type(after) or before != after:
        yield at, before, after


def as_values(found: list[Replayed]) -> dict[str, Any]:
    """A report for programs."""
    differing = [_values(one) for one in found if not one.is_same]
    return {"trials": len(found), "calls": sum(one.calls for one in found), "differing": differing}


def _values(one: Replayed) -> dict[str, Any]:
    about = {"trial": str(one.key.id), **msgspec.to_builtins(one.key), "fault": one.fault}
    found = one.difference
    if found is None:
        return about
    versions = {"recorded": found.recorded, "now": found.now}
    return {
        **about,
        "position": found.position,
        "broke": found.broke,
        **{name: None if one is None else msgspec.to_builtins(one) for name, one in versions.items()},
    }
