"""Trialbox's machine: rows, events, streams, trials, agents, campaigns and the doors to them."""

from msgspec import UNSET, UnsetType

from sandbox.arguments import Named
from sandbox.call import Call, Rows
from sandbox.clock import Pinned, Ticking
from sandbox.coercion import coerced
from sandbox.declarations import Event, Gone, Row
from sandbox.domain import Domain, RowFault
from sandbox.effects import Effect, Effects, FieldChange
from sandbox.foreign import Document, ForeignPack, Imported, ImportFault, LeftOut, json_of, text_of, yaml_of
from sandbox.ids import TakenId, counted, counted_free, smallest_free
from sandbox.refusals import Conflict, Invalid, NotFound, Precondition, Refused, SandboxFault, Unsupported, UserFault
from sandbox.search import Hit
from sandbox.snapshot import Layer, Snapshot
from sandbox.toolset import Mount, Toolset
from sandbox.values import Instant, Prose, Unordered, ValueFault, Volatile, later, moment, plain, refers, written
from sandbox.world import Answer, Request, World

__all__ = [
    "UNSET",
    "Answer",
    "Call",
    "Conflict",
    "Document",
    "Domain",
    "Effect",
    "Effects",
    "Event",
    "FieldChange",
    "ForeignPack",
    "Gone",
    "Hit",
    "ImportFault",
    "Imported",
    "Instant",
    "Invalid",
    "Layer",
    "LeftOut",
    "Mount",
    "Named",
    "NotFound",
    "Pinned",
    "Precondition",
    "Prose",
    "Refused",
    "Request",
    "Row",
    "RowFault",
    "Rows",
    "SandboxFault",
    "Snapshot",
    "TakenId",
    "Ticking",
    "Toolset",
    "Unordered",
    "UnsetType",
    "Unsupported",
    "UserFault",
    "ValueFault",
    "Volatile",
    "World",
    "coerced",
    "counted",
    "counted_free",
    "json_of",
    "later",
    "moment",
    "plain",
    "refers",
    "smallest_free",
    "text_of",
    "written",
    "yaml_of",
]
