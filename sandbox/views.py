"""Read models: what the streams say, as tables that can be queried, dropped and rebuilt."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from sandbox.refusals import UserFault
from sandbox.store_file import is_store

SUFFIX = ".views.db"
"""Of the file's name. A file of this name that is no store may be replaced."""
_BROKEN = (sa.exc.SQLAlchemyError, UnicodeDecodeError)
"""What a file that cannot be used raises; a damaged name is no text."""

FORMAT = 2

_metadata = sa.MetaData()

_trials = sa.Table(
    "trials",
    _metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    sa.Column("campaign", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("repetition", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("end", sa.Text, nullable=False),
    sa.Column("flags", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("refused", sa.Integer, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("effects", sa.String(64), nullable=False),
    sa.Column("domain_digest", sa.String(64), nullable=False),
    sa.Index("trials_by_task", "agent", "task"),
)
_effects = sa.Table(
    "effects",
    _metadata,
    sa.Column("digest", sa.String(64), primary_key=True),
    sa.Column("domain_digest", sa.String(64), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
_about = sa.Table("about", _metadata, sa.Column("campaign", sa.String(64), primary_key=True))
_verdicts = sa.Table(
    "verdicts",
    _metadata,
    sa.Column("trial", sa.String(32), primary_key=True),
    sa.Column("bundle", sa.String(64), primary_key=True),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("findings", sa.Integer, nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
)


class ViewsFault(UserFault):
    """Read models that cannot be read or written; the text names their file and how they are made again."""


class TrialRow(Struct, frozen=True):
    """A closed trial."""

    trial: str
    """Hexadecimal, 32 characters."""
    campaign: str
    task: str
    repetition: int
    attempt: int
    agent: str
    end: str
    flags: str
    """Joined by blanks."""
    detail: str
    calls: int
    refused: int
    records: int
    effects: str
    """Digest."""
    domain_digest: str
    """Of the code that folded the effects."""


class EffectsRow(Struct, frozen=True):
    """An effect set under its digest, with the domain code that folded it."""

    digest: str
    domain_digest: str
    content: bytes


class VerdictRow(Struct, frozen=True):
    """What one judge bundle says of one trial."""

    trial: str
    bundle: str
    result: str
    outcome: str
    findings: int
    """How many."""
    place: int
    """In the order of judging; a later one is newer."""


class Score(Struct, frozen=True):
    """An agent's verdicts on one task."""

    agent: str
    task: str
    trials: int
    passed: int
    failed: int
    ungradeable: int
    bundles: tuple[str, ...] = ()
    """The judge bundles that gave the verdicts which count; of more than one they must not be summed up."""
    planned: int = 0
    """Repetitions of the campaign; 0 where that is not known."""


class Views:
    """
    The tables of one campaign, in `CAMPAIGN.views.db` beside its store, or in memory.

    Everything in here can be made again from the store; the file may be deleted at any time. One that cannot be used is
    replaced, and where that cannot be done either the tables are in memory, and new.

    Raises:
        ViewsFault: the file is a store, or another process keeps it locked.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is not None and path.exists() and not path.is_file():
            path = None
        if path is not None and is_store(path):
            raise ViewsFault(f"{path}: is a store, where another store's read models would be; move one of the two")
        try:
            self._open(path)
        except _BROKEN as error:
            if path is not None and _is_locked(error):
                raise _fault(path, error) from error
            self._replace(path)

    def _open(self, path: Path | None) -> None:
        self.path = path
        """The file; None: the tables are in memory."""
        self._engine = _in_memory() if path is None else sa.create_engine(sa.URL.create("sqlite", database=str(path)))
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.text("BEGIN IMMEDIATE"))
                found = connection.execute(sa.text("PRAGMA user_version")).scalar_one()
                self.is_new = found != FORMAT
                """Whether nothing has been put into these tables yet, so that they are to be rebuilt."""
                if self.is_new:
                    _metadata.drop_all(connection)
                _metadata.create_all(connection)
                # Written each time: tables that can only be read would be out of date after the next campaign.
                connection.execute(sa.text(f"PRAGMA user_version = {FORMAT}"))
        except BaseException:
            self._engine.dispose()
            raise

    def _replace(self, path: Path | None) -> None:
        """Start anew in the place of a file that cannot be used, or in memory if that cannot be done."""
        try:
            self._drop_file(path)
            self._open(path)
        except (OSError, *_BROKEN):
            self._open(None)

    def _drop_file(self, path: Path | None) -> None:
        """Take away a file of read models; any other is left alone."""
        if path is not None and path.name.endswith(SUFFIX):
            # In this order: a journal without its database is dropped by SQLite, a database without it is damaged.
            for file in (path, path.with_name(f"{path.name}-journal")):
                file.unlink(missing_ok=True)

    @classmethod
    def copied(cls, path: Path) -> "Views":
        """The tables of a file, in memory; the file is only read. New if it is not there or cannot be used."""
        made = cls()
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            if file.execute("PRAGMA user_version").fetchone() == (FORMAT,):
                with closing(made._engine.raw_connection()) as connection:
                    file.backup(connection.driver_connection)  # type: ignore[arg-type]
                made.is_new = False
        return made

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def is_about(self, campaign: str) -> bool:
        """Whether these tables are about the campaign whose seal has that digest."""
        return [row[0] for row in self._rows(sa.select(_about.c.campaign))] == [campaign]

    def claim(self, campaign: str) -> None:
        """These tables hold all of the campaign whose seal has that digest; said last, when they do."""
        with self._writing() as connection:
            connection.execute(sa.delete(_about))
            connection.execute(_about.insert(), [{"campaign": campaign}])
        self.is_new = False

    def clear(self) -> None:
        """Drop every row, before a rebuild; the tables are about nothing then."""
        self._empty(_about, *_TABLES.values())

    def _empty(self, *tables: sa.Table) -> None:
        try:
            with self._engine.begin() as connection:
                for table in tables:
                    connection.execute(sa.delete(table))
        except _BROKEN:
            self._engine.dispose()
            self._replace(self.path)

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """A transaction; a file that missed one is taken away, so that nobody reads it as if it were complete."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except _BROKEN as error:
            if self.path is None:
                raise
            self._engine.dispose()
            with suppress(OSError):
                self._drop_file(self.path)
            raise _fault(self.path, error) from error

    def add(self, rows: Iterable[TrialRow | EffectsRow | VerdictRow]) -> None:
        """
        Insert or replace rows; the same rows again change nothing.

        Raises:
            ViewsFault: they cannot be written; the file is gone then, and is made again when it is next opened.
        """
        sorted_rows: dict[sa.Table, list[Mapping[str, Any]]] = {}
        for row in rows:
            sorted_rows.setdefault(_TABLES[type(row)], []).append(msgspec.structs.asdict(row))
        with self._writing() as connection:
            for table, values in sorted_rows.items():
                connection.execute(table.insert().prefix_with("OR REPLACE"), values)

    def trials(self) -> list[TrialRow]:
        """All closed trials, by task, repetition and attempt."""
        t = _trials.c
        query = sa.select(_trials).order_by(t.agent, t.task, t.repetition, t.attempt)
        return [TrialRow(*row) for row in self._rows(query)]

    def effects(self, digest: str) -> list[EffectsRow]:
        """The effect sets under a digest; more than one where domain code changed and folded the same."""
        return [EffectsRow(*row) for row in self._rows(sa.select(_effects).where(_effects.c.digest == digest))]

    def contents(self, digests: Collection[str], domain_digest: str) -> dict[str, bytes]:
        """Encoded effect sets by digest, as far as they were folded by this domain code; some hundred at once."""
        e = _effects.c
        query = sa.select(e.digest, e.content).where(e.digest.in_(digests), e.domain_digest == domain_digest)
        return {row[0]: row[1] for row in self._rows(query)}

    def verdicts(self) -> list[VerdictRow]:
        """All verdicts, in the order in which they were given."""
        return [VerdictRow(*row) for row in self._rows(sa.select(_verdicts).order_by(_verdicts.c.place))]

    def last_place(self) -> int:
        """The place of the newest verdict; 0 if there is none."""
        (row,) = self._rows(sa.select(sa.func.coalesce(sa.func.max(_verdicts.c.place), 0)))
        return int(row[0])

    def scores(self) -> list[Score]:
        """
        Verdict counts by agent and task, over trials that did not end as infrastructure.

        The newest verdict of a trial counts; a trial without one counts as ungradeable.
        """
        t, v = _trials.c, _verdicts.c
        newest = sa.select(v.trial, sa.func.max(v.place).label("place")).group_by(v.trial).subquery()
        latest = (
            sa.select(v.trial, v.result, v.bundle)
            .join(newest, sa.and_(newest.c.trial == v.trial, newest.c.place == v.place))
            .subquery()
        )
        result = sa.func.coalesce(latest.c.result, "ungradeable")
        counts = [sa.func.sum(sa.case((result == name, 1), else_=0)) for name in ("pass", "fail", "ungradeable")]
        query = (
            sa.select(t.agent, t.task, sa.func.count(), *counts, sa.func.group_concat(latest.c.bundle.distinct()))
            .select_from(_trials.outerjoin(latest, latest.c.trial == t.trial))
            .where(t.end != "infrastructure")
            .group_by(t.agent, t.task)
            .order_by(t.agent, t.task)
        )
        return [
            Score(agent, task, trials, passed, failed, ungradeable, _bundles(bundles))
            for agent, task, trials, passed, failed, ungradeable, bundles in self._rows(query)
        ]

    def _rows(self, query: sa.Select[Any]) -> Iterator[Sequence[Any]]:
        try:
            with self._engine.connect() as connection:
                found = connection.execute(query).all()
        except _BROKEN as error:
            if self.path is None:
                raise
            raise _fault(self.path, error) from error
        yield from found


def _bundles(joined: str | None) -> tuple[str, ...]:
    """The digests in a text that joins them by commas."""
    return tuple(sorted(joined.split(","))) if joined else ()


def _is_locked(error: Exception) -> bool:
    return str(getattr(getattr(error, "orig", None), "sqlite_errorname", "")).startswith("SQLITE_BUSY")


def _fault(path: Path, error: Exception) -> ViewsFault:
    return ViewsFault(
        f"{path}: these read models cannot be used: {getattr(error, 'orig', error)}; the store has everything that was "
        f"finished, so mend that and rebuild them with: trialbox rebuild STORE"
    )


def _in_memory() -> sa.Engine:
    """One connection for all threads: each connection to memory would be a database of its own."""
    return sa.create_engine("sqlite://", poolclass=sa.StaticPool, connect_args={"check_same_thread": False})


_TABLES: dict[type[Struct], sa.Table] = {TrialRow: _trials, EffectsRow: _effects, VerdictRow: _verdicts}
