"""A report: the tables and pictures of a study, and what they say in words."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from judges.metrics.study import Study
from judges.report.contents import tables_of
from judges.report.figures import Picture, pictures
from judges.report.sections import points
from judges.report.summary import summary
from judges.report.table import Cell, Column, Table
from sandbox.trial import VERSION

SHORT = 12
"""Characters of a digest in a table; the JSON has all of it."""


class Section(Struct, frozen=True):
    """A table and what is drawn of it."""

    table: Table
    pictures: Sequence[Picture]


class Report(Struct, frozen=True):
    """All that is written."""

    title: str
    policy: str
    summary: Sequence[str]
    sections: Sequence[Section]
    stores: Sequence[Mapping[str, object]]
    """As JSON values."""
    version: str
    """Of Trialbox."""

    @property
    def tables(self) -> list[Table]:
        """In the order of the sections."""
        return [section.table for section in self.sections]

    @property
    def pictures(self) -> list[Picture]:
        """In the order of the sections."""
        return [picture for section in self.sections for picture in section.pictures]


def report_of(study: Study, title: str = "", worst: Table | None = None) -> Report:
    """
    The report of a study.

    Args:
        title: says otherwise how many agents and tasks there are.
        worst: the failures that looked clean, which are read from stores.
    """
    tables = {table.name: table for table in (*tables_of(study, worst), campaigns(study))}
    drawn = pictures(tables, points(study))
    return Report(
        title=title or title_of(study),
        policy=study.policy.name,
        summary=summary(study, tables),
        sections=[Section(table, drawn.get(name, ())) for name, table in tables.items()],
        stores=[stored.values for stored in _stored(study)],
        version=VERSION,
    )


def title_of(study: Study) -> str:
    """How many agents and tasks there are, and of which domains."""
    tasks = len({(item.domain, item.task) for agent in study.agents for item in agent.counts})
    domains = study.domains
    of = domains[0] if len(domains) == 1 else f"{len(domains)} domains"
    return f"{_number(len(study.agents), 'agent')} at {_number(tasks, 'task')} of {of}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count != 1 else "")


def campaigns(study: Study) -> Table:
    """Where everything is from."""
    columns = (
        Column("store"),
        Column("campaign"),
        Column("agent"),
        Column("domain"),
        Column("mounting"),
        Column("tasks", "count"),
        Column("repetitions", "count", "planned of each task"),
        Column("attempts", "count", "also those that broke and were made again"),
        Column("judge bundles", "count", "one for each task, as long as neither task nor judges have changed"),
        Column("domain code", "text", "the beginning of its digest"),
        Column("Trialbox", "text", "the version that ran it"),
    )
    about = "The stores that were read. Their digests stand in full in report.json."
    rows = tuple(stored.row for stored in _stored(study))
    return Table("campaigns", "Campaigns", about, columns, rows)


class _Stored(Struct, frozen=True):
    row: tuple[Cell, ...]
    values: dict[str, object]


def _stored(study: Study) -> list[_Stored]:
    found = []
    for one in study.campaigns:
        seal, bundles = one.seal, sorted({bundle for score in one.scores for bundle in score.bundles})
        # A path may hold bytes that are no text.
        path = str(one.path).encode("utf-8", "backslashreplace").decode()
        values: dict[str, object] = {
            "path": path,
            "campaign": seal.name,
            "agent": seal.agent,
            "domain": seal.domain,
            "mounting": seal.mounting,
            "repetitions": seal.repetitions,
            "attempts": one.attempts,
            "version": seal.version,
            "domain_digest": seal.domain_digest,
            "instructions_digest": seal.instructions_digest,
            "tasks": [{"id": task.id, "digest": task.digest} for task in seal.tasks],
            "judge_bundles": bundles,
        }
        row = (
            *(path, seal.name, seal.agent, seal.domain, seal.mounting, len(one.counts), seal.repetitions),
            *(one.attempts, len(bundles), seal.domain_digest[:SHORT], seal.version),
        )
        found.append(_Stored(row, values))
    return found
