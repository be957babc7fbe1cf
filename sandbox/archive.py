"""What a store holds of a campaign: its sealed inputs, and every trial that has ended."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import msgspec
from msgspec import Struct

from sandbox.domain import Domain, Mounting
from sandbox.fold import end_of
from sandbox.records import Record, TrialKey
from sandbox.refusals import UserFault
from sandbox.registry import domain_mounted
from sandbox.snapshot import Layer, Snapshot
from sandbox.stream import Store
from sandbox.task import Task

INTERRUPTED = "interrupted"
"""Detail of a trial whose run was stopped or killed; it says nothing about the next attempt."""
_TASK_FIELDS = ("digest", "layers", "tools_digest")


class SealedTask(Struct, frozen=True):
    """A task as it was when the campaign began."""

    id: str
    digest: str
    layers: tuple[str, ...]
    tools_digest: str


class Seal(Struct, frozen=True):
    """A campaign's inputs. The same name with other inputs is refused."""

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
    """The seal of the campaign that a store holds; CampaignDiffers if it holds none."""
    kept = store.kept("campaign", "seal")
    if kept is None:
        raise CampaignDiffers(f"{store.name} holds no campaign; make one with: trialbox run")
    return msgspec.json.decode(kept, type=Seal)


def domain_of(store: Store) -> Domain:
    """The installed domain that a store's campaign is about, in the mount that it was run with."""
    seal = sealed_in(store)
    return domain_mounted(seal.domain, seal.mounting)


def keys_of(seal: Seal) -> Iterator[TrialKey]:
    """The first attempt at every repetition of every task, task by task."""
    for task in seal.tasks:
        for repetition in range(seal.repetitions):
            yield TrialKey(seal.name, task.id, repetition, 1)


def attempts_of(first: TrialKey) -> Iterator[TrialKey]:
    """The attempts at one repetition, without end."""
    return (msgspec.structs.replace(first, attempt=attempt) for attempt in count(first.attempt))


def ensure_same(kept: Seal, given: Seal) -> None:
    """Return if two seals say the same; CampaignDiffers names every input that does not."""
    told = [
        f"{field}: sealed {_short(getattr(kept, field))}, given {_short(getattr(given, field))}"
        for field in Seal.__struct_fields__
        if field != "tasks" and getattr(kept, field) != getattr(given, field)
    ]
    told += _task_differences({task.id: task for task in kept.tasks}, {task.id: task for task in given.tasks})
    if told:
        raise CampaignDiffers(
            f"the store holds campaign {kept.name!r} with other inputs ({'; '.join(told)}); use another file or name"
        )


def _task_differences(kept: Mapping[str, SealedTask], given: Mapping[str, SealedTask]) -> list[str]:
    told = [f"task {name} is not given" for name in kept if name not in given]
    told += [f"task {name} is not sealed" for name in given if name not in kept]
    for name in [name for name in kept if name in given]:
        pairs = [(field, getattr(kept[name], field), getattr(given[name], field)) for field in _TASK_FIELDS]
        told += [f"task {name} has another {field}" for field, sealed, now in pairs if sealed != now]
    if not told and list(kept) != list(given):
        told.append("the tasks are in another order")
    return told


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:12] + "…"
