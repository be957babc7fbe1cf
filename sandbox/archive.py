"""What a store holds of a campaign: its sealed inputs, and every trial that has ended."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from sandbox.domain import Domain, Mounting
from sandbox.fold import end_of
from sandbox.records import Record, TrialKey
from sandbox.refusals import UserFault
from sandbox.registry import OnlyResults, domain_mounted
from sandbox.snapshot import Layer, Snapshot
from sandbox.stream import Store
from sandbox.task import Task
from sandbox.values import canonical

INTERRUPTED = "interrupted"
"""Detail of a trial whose run was stopped or killed; it says nothing about the next attempt."""
KIND = "campaign"
"""The kind of content under which a store keeps seals."""
ABSENT = "nothing"
"""What is told of a setting that is not there."""
_TASK_FIELDS = ("digest", "layers", "tools_digest", "user")


class SealedTask(Struct, frozen=True):
    """A task as it was when the campaign began."""

    id: str
    digest: str
    layers: tuple[str, ...]
    tools_digest: str
    user: str = ""
    """Digest of what its user is told; empty where nobody reads that."""


class Seal(Struct, frozen=True):
    """A campaign's inputs. It may be extended by tasks and repetitions; the same name with other inputs is refused."""

    name: str
    domain: str
    domain_digest: str
    instructions_digest: str
    agent: str
    repetitions: int
    tasks: tuple[SealedTask, ...]
    version: str
    mounting: Mounting = "own"
    agent_settings: str = ""


class CampaignDiffers(UserFault):
    """The store holds no campaign, or one with other inputs; the text says which."""


class Archive:
    """
    A stored campaign, read with today's domain code from the snapshot layers that were sealed with it.

    Raises:
        CampaignDiffers: the store holds no campaign, or one of another domain.
    """

    def __init__(self, store: Store, domain: Domain) -> None:
        self.store = store
        self.domain = domain
        self.seal = sealed_in(store)
        sealed, given = (self.seal.domain, self.seal.mounting), (domain.name, domain.mounting)
        if sealed != given:
            raise CampaignDiffers(
                "the store holds a campaign of domain {!r} ({}), not {!r} ({})".format(*sealed, *given)
            )
        self._layers: dict[str, Layer] = {}
        self.tasks = {sealed.id: self._task(sealed.digest) for sealed in self.seal.tasks}
        self.snapshots = {sealed.id: self._snapshot(sealed.layers) for sealed in self.seal.tasks}

    def closed(self) -> Iterator[tuple[TrialKey, list[Record]]]:
        """Every attempt that has ended, with its records, task by task."""
        for first in keys_of(self.seal):
            for key in attempts_of(first):
                records = self.store.read(key.id)
                if end_of(records) is None:
                    break
                yield key, records

    def _task(self, digest: str) -> Task:
        return msgspec.json.decode(self._kept("task", digest), type=Task)

    def _snapshot(self, digests: Sequence[str]) -> Snapshot:
        for digest in digests:
            if digest not in self._layers:
                self._layers[digest] = self.domain.layer_from(self._kept("layer", digest))
        return Snapshot([self._layers[digest] for digest in digests])

    def _kept(self, kind: str, name: str) -> bytes:
        content = self.store.kept(kind, name)
        if content is None:
            raise CampaignDiffers(f"the store holds no {kind} {name[:12]}, which its seal names")
        return content


def sealed_in(store: Store) -> Seal:
    """The newest seal of the campaign that a store holds; CampaignDiffers if it holds none."""
    seal = newest_seal(store)
    if seal is None:
        raise CampaignDiffers(f"{store.name} holds no campaign; make one with: trialbox run")
    return seal


def newest_seal(store: Store) -> Seal | None:
    """The seal that was kept last: a campaign that is extended gets another one."""
    names = store.names(KIND)
    kept = store.kept(KIND, names[-1]) if names else None
    return None if kept is None else msgspec.json.decode(kept, type=Seal)


def keep_seal(store: Store, seal: Seal) -> None:
    """Keep a seal after those that are there, under the next name."""
    number = len(store.names(KIND)) + 1
    store.keep(KIND, "seal" if number == 1 else f"seal-{number}", canonical(msgspec.to_builtins(seal)))


def domain_of(store: Store) -> Domain:
    """The installed domain that a store's campaign is about, in the mount that it was run with; see `recorded_in`."""
    seal = recorded_in(store)
    return domain_mounted(seal.domain, seal.mounting)


def recorded_in(store: Store) -> Seal:
    """
    The newest seal of a campaign whose trials have streams.

    Raises:
        CampaignDiffers: the store holds no campaign.
        OnlyResults: it holds results that were imported.
    """
    seal = sealed_in(store)
    if seal.mounting == "imported":
        source = (_settings(seal.agent_settings) or {}).get("imported", "another tool")
        raise OnlyResults(
            f"{store.name} holds results imported from {source}, of which there are no streams to look at; "
            f"it can be given to: trialbox stats, reliability, gate, report"
        )
    return seal


def keys_of(seal: Seal) -> Iterator[TrialKey]:
    """The first attempt at every repetition of every task, task by task."""
    for task in seal.tasks:
        for repetition in range(seal.repetitions):
            yield TrialKey(seal.name, task.id, repetition, 1)


def attempts_of(first: TrialKey) -> Iterator[TrialKey]:
    """The attempts at one repetition, without end."""
    return (msgspec.structs.replace(first, attempt=attempt) for attempt in count(first.attempt))


def ensure_extends(kept: Seal, given: Seal) -> None:
    """
    Return if a seal says what an older one says, with as many repetitions and all of its tasks or more.

    Raises:
        CampaignDiffers: it says something else; the text names every difference.
    """
    told = [
        line
        for field in Seal.__struct_fields__
        if field != "tasks"
        for line in _differences(field, getattr(kept, field), getattr(given, field))
    ]
    told += _task_differences({task.id: task for task in kept.tasks}, {task.id: task for task in given.tasks})
    if told:
        raise CampaignDiffers(
            f"the store holds campaign {kept.name!r} with other inputs ({'; '.join(told)}); use another file or name"
        )


def _task_differences(kept: Mapping[str, SealedTask], given: Mapping[str, SealedTask]) -> list[str]:
    told = [f"task {name} is not given" for name in kept if name not in given]
    for name in [name for name in kept if name in given]:
        pairs = [(field, getattr(kept[name], field), getattr(given[name], field)) for field in _TASK_FIELDS]
        told += [f"task {name} has another {field}" for field, sealed, now in pairs if sealed != now]
    if not told and list(kept) != [name for name in given if name in kept]:
        told.append("the tasks are in another order")
    return told


def _differences(field: str, kept: Any, given: Any) -> list[str]:
    """How one input differs; of settings in JSON, each setting that does."""
    if field == "repetitions":
        is_same = given >= kept
    else:
        is_same = given == kept
    if is_same:
        return []
    if field == "agent_settings" and None not in (settings := [_settings(kept), _settings(given)]):
        sealed, now = (dict(_leaves(one)) for one in settings)
        return [
            f"{name}: sealed {_short(sealed.get(name, ABSENT))}, given {_short(now.get(name, ABSENT))}"
            for name in sorted(sealed.keys() | now.keys())
            if sealed.get(name, ABSENT) != now.get(name, ABSENT)
        ]
    return [f"{field}: sealed {_short(kept)}, given {_short(given)}"]


def _settings(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def _leaves(settings: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every single setting under its path, as JSON."""
    if isinstance(settings, dict) and settings:
        for name, value in settings.items():
            yield from _leaves(value, f"{path}.{name}" if path else name)
    else:
        yield path, msgspec.json.encode(settings).decode()


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:12] + "…"
