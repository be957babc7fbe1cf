"""Read models: what the streams say, as tables that can be queried, dropped and rebuilt."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from sandbox.refusals import UserFault
from sandbox.spent import BUCKETS, Spent
from sandbox.store_file import is_store
from sandbox.view_rows import Case, EffectsRow, Lot, Score, TrialRow, VerdictRow, ViewRow
from sandbox.view_tables import TABLES, about, effects, metadata, notes, trials, usage, verdicts

SUFFIX = ".views.db"
"""Of the file's name. A file of this name that is no store may be replaced."""
_BROKEN = (sa.exc.SQLAlchemyError, UnicodeDecodeError)
"""What a file that cannot be used raises; a damaged name is no text."""

FORMAT = 4


class ViewsFault(UserFault):
    """Read models that cannot be read or written; the text names their file and how they are made again."""


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
                    metadata.drop_all(connection)
                metadata.create_all(connection)
                if self.is_new:
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
        return [row[0] for row in self._rows(sa.select(about.c.campaign))] == [campaign]

    def claim(self, campaign: str) -> None:
        """These tables hold all of the campaign whose seal has that digest; said last, when they do."""
        with self._writing() as connection:
            connection.execute(sa.delete(about))
            connection.execute(about.insert(), [{"campaign": campaign}])
        self.is_new = False

    def clear(self) -> None:
        """Drop every row, before a rebuild; the tables are about nothing then."""
        self._empty(about, *TABLES.values())

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

    def add(self, rows: Iterable[ViewRow]) -> None:
        """
        Insert or replace rows; the same rows again change nothing.

        Raises:
            ViewsFault: they cannot be written; the file is gone then, and is made again when it is next opened.
        """
        sorted_rows: dict[sa.Table, list[Mapping[str, Any]]] = {}
        for row in rows:
            sorted_rows.setdefault(TABLES[type(row)], []).append(msgspec.structs.asdict(row))
        with self._writing() as connection:
            for table, values in sorted_rows.items():
                connection.execute(table.insert().prefix_with("OR REPLACE"), values)

    def trials(self) -> list[TrialRow]:
        """All closed trials, by task, repetition and attempt."""
        t = trials.c
        query = sa.select(trials).order_by(t.agent, t.task, t.repetition, t.attempt)
        return [TrialRow(*row) for row in self._rows(query)]

    def effects(self, digest: str) -> list[EffectsRow]:
        """The effect sets under a digest; more than one where domain code changed and folded the same."""
        return [EffectsRow(*row) for row in self._rows(sa.select(effects).where(effects.c.digest == digest))]

    def contents(self, digests: Collection[str], domain_digest: str) -> dict[str, bytes]:
        """Encoded effect sets by digest, as far as they were folded by this domain code; some hundred at once."""
        e = effects.c
        query = sa.select(e.digest, e.content).where(e.digest.in_(digests), e.domain_digest == domain_digest)
        return {row[0]: row[1] for row in self._rows(query)}

    def verdicts(self) -> list[VerdictRow]:
        """All verdicts, in the order in which they were given."""
        return [VerdictRow(*row) for row in self._rows(sa.select(verdicts).order_by(verdicts.c.place))]

    def last_place(self) -> int:
        """The place of the newest verdict; 0 if there is none."""
        (row,) = self._rows(sa.select(sa.func.coalesce(sa.func.max(verdicts.c.place), 0)))
        return int(row[0])

    def lots(self) -> list[Lot]:
        """
        The attempts that count, or that stand for a repetition which has none, grouped by all that is counted of them.

        The newest verdict of a trial counts; one without has the result `ungradeable`, and no bundle.
        """
        counted, v, n = _counted().subquery(), _newest_verdicts().subquery(), notes.c
        result = sa.func.coalesce(v.c.result, "ungradeable").label("result")
        named = [
            counted.c.agent,
            counted.c.task,
            counted.c.end,
            counted.c.flags,
            result,
            *(sa.func.coalesce(v.c[name], "").label(name) for name in ("bundle", "signature", "grouping", "kinds")),
            sa.func.coalesce(v.c.refusal, 0).label("refusal"),
            *(sa.func.coalesce(n[name], 0).label(name) for name in ("wrote", "last_is_good")),
            sa.func.coalesce(n.declined, "").label("declined"),
        ]
        query = (
            sa.select(*named, sa.func.count())
            .select_from(
                counted.outerjoin(v, v.c.trial == counted.c.trial).outerjoin(notes, n.trial == counted.c.trial)
            )
            .group_by(*named)
            .order_by(counted.c.agent, counted.c.task)
        )
        return [Lot(*row) for row in self._rows(query)]

    def cases(self) -> list[Case]:
        """The failed trials that count, by task and repetition."""
        counted, v, n = _counted().subquery(), _newest_verdicts().subquery(), notes.c
        columns = [
            *(counted.c[name] for name in ("trial", "task", "repetition", "attempt", "end")),
            *(v.c[name] for name in ("signature", "grouping", "position", "reason", "kinds", "findings")),
            *(sa.func.coalesce(n[name], 0) for name in ("wrote", "last_is_good")),
        ]
        query = (
            sa.select(*columns)
            .select_from(counted.join(v, v.c.trial == counted.c.trial).outerjoin(notes, n.trial == counted.c.trial))
            .where(v.c.result == "fail", counted.c.end != "infrastructure")
            .order_by(counted.c.task, counted.c.repetition)
        )
        return [Case(*row) for row in self._rows(query)]

    def scores(self) -> list[Score]:
        """Verdict counts by agent and task, over trials that did not end as infrastructure."""
        return scores_of_lots(self.lots())

    def spent(self) -> list[Spent]:
        """What model calls in closed trials, and about them, used: of all attempts, by what is known of it."""
        u = usage.c
        keys = [u.party, u.model, u.served, u.shape]
        sums = [sa.func.sum(u[name]) for name in ("attempts", *BUCKETS)]
        query = sa.select(*keys, *sums, sa.func.min(u.least), sa.func.max(u.most)).group_by(*keys).order_by(*keys)
        return [Spent(*row) for row in self._rows(query)]

    def attempts(self) -> list[tuple[str, int, int, str]]:
        """Task, repetition, attempt and end of every closed trial, in that order."""
        t = trials.c
        query = sa.select(t.task, t.repetition, t.attempt, t.end).order_by(t.task, t.repetition, t.attempt)
        return [(task, repetition, attempt, end) for task, repetition, attempt, end in self._rows(query)]

    def size(self) -> int:
        """How many closed trials there are, every attempt counted."""
        (row,) = self._rows(sa.select(sa.func.count()).select_from(trials))
        return int(row[0])

    def lengths(self) -> dict[str, int]:
        """How many records each closed trial has, by trial."""
        (row,) = self._rows(sa.select(sa.func.json_group_object(trials.c.trial, trials.c.records)))
        return msgspec.json.decode(row[0], type=dict[str, int])

    def results(self) -> dict[str, str]:
        """The result of each verdict by the stream in which the store keeps it."""
        v = verdicts.c
        query = sa.select(sa.func.json_group_object(v.kept, v.result)).where(v.kept != "")
        (row,) = self._rows(query)
        return msgspec.json.decode(row[0], type=dict[str, str])

    def judged_unended(self) -> list[str]:
        """Trials that have a verdict and are not among the closed ones."""
        query = sa.select(verdicts.c.trial).distinct().where(verdicts.c.trial.not_in(sa.select(trials.c.trial)))
        return [row[0] for row in self._rows(query)]

    def unjudged(self) -> set[str]:
        """Closed trials without a verdict."""
        query = sa.select(trials.c.trial).where(trials.c.trial.not_in(sa.select(verdicts.c.trial)))
        return {row[0] for row in self._rows(query)}

    def settled(self) -> int:
        """How many repetitions have a trial that did not end as infrastructure."""
        t = trials.c
        done = sa.select(t.agent, t.task, t.repetition).where(t.end != "infrastructure").distinct().subquery()
        (row,) = self._rows(sa.select(sa.func.count()).select_from(done))
        return int(row[0])

    def judge_calls(self) -> int:
        """How many calls of a rubric judge are in `spent`."""
        (row,) = self._rows(sa.select(sa.func.coalesce(sa.func.sum(notes.c.judge_calls), 0)))
        return int(row[0])

    def _rows(self, query: sa.Select[Any]) -> Iterator[Sequence[Any]]:
        try:
            with self._engine.connect() as connection:
                found = connection.execute(query).all()
        except _BROKEN as error:
            if self.path is None:
                raise
            raise _fault(self.path, error) from error
        yield from found


def _counted() -> sa.Select[Any]:
    """For each repetition the first attempt that did not break on our side; the first of all if all did."""
    t = trials.c
    place = sa.func.row_number().over(
        partition_by=(t.agent, t.task, t.repetition), order_by=(t.end == "infrastructure", t.attempt)
    )
    read = (t.trial, t.agent, t.task, t.repetition, t.attempt, t.end, t.flags)
    ranked = sa.select(*read, place.label("place")).subquery()
    return sa.select(ranked).where(ranked.c.place == 1)


def _newest_verdicts() -> sa.Select[Any]:
    later = verdicts.alias("later")
    is_outdone = sa.exists().where(later.c.trial == verdicts.c.trial, later.c.place > verdicts.c.place)
    return sa.select(verdicts).where(~is_outdone)


def scores_of_lots(lots: Iterable[Lot]) -> list[Score]:
    """Verdict counts by agent and task, over trials that did not end as infrastructure."""
    found: dict[tuple[str, str], list[Lot]] = {}
    for lot in lots:
        if lot.end != "infrastructure":
            found.setdefault((lot.agent, lot.task), []).append(lot)
    return [_score(agent, task, own) for (agent, task), own in found.items()]


def _score(agent: str, task: str, lots: Sequence[Lot]) -> Score:
    passed, failed, ungradeable = (
        sum(lot.trials for lot in lots if lot.result == result) for result in ("pass", "fail", "ungradeable")
    )
    bundles = tuple(sorted({lot.bundle for lot in lots if lot.bundle}))
    return Score(agent, task, passed + failed + ungradeable, passed, failed, ungradeable, bundles)


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
