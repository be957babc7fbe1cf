"""A report as Markdown, for pages that show tables as GitHub does."""

import re

from judges.lines import cut
from judges.report.report import Report, Section
from judges.report.table import Table, shown

LONGEST_NAME = 60
LONGEST_TEXT = 400
"""Characters."""
SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~$&!^]")
"""What Markdown, its tables, HTML or formulas would make something of."""
LINKED = re.compile(r"(?i)(://|www\.|@)")
"""What would become a link or a mention."""
LEADING = re.compile(r"^(\s*)([-+=]|\d+\.)")
"""What would begin a list or underline a heading."""


def markdown(report: Report) -> str:
    """The whole report; pictures are files beside it."""
    summary = "".join(f"- {text(sentence, LONGEST_TEXT)}\n" for sentence in report.summary)
    return (
        f"# {text(report.title, LONGEST_TEXT)}\n\nPolicy: {text(report.policy, LONGEST_TEXT)}.\n\n{summary}\n"
        f"{''.join(map(_section, report.sections))}"
        f"Made by Trialbox {text(report.version)}. The same numbers, unrounded: [JSON](report.json), "
        "and tables/ as CSV and Parquet.\n"
    )


def text(value: str, longest: int = LONGEST_NAME) -> str:
    """A text that others may have written, in one line in which nothing is markup."""
    escaped = SPECIAL.sub(lambda found: f"\\{found[0]}", cut(value, longest))
    # An invisible word joiner keeps addresses and names from becoming links.
    unlinked = LINKED.sub(lambda found: f"{found[0][:1]}\u2060{found[0][1:]}", escaped)
    return LEADING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[2] in "-+=" else found[0], unlinked)


def _section(section: Section) -> str:
    pictures = "".join(
        f"![{text(picture.alt, LONGEST_TEXT)}](figures/{picture.name}.svg)\n\n{text(picture.caption, LONGEST_TEXT)}\n\n"
        for picture in section.pictures
    )
    table = section.table
    about = text(table.about, 10 * LONGEST_TEXT)
    return f"## {text(table.title)}\n\n{about}\n\n{pictures}{_table(table)}\n{_notes(table)}"


def _table(table: Table) -> str:
    heads = [text(column.name) for column in table.columns]
    lines = [heads, ["---" if column.kind == "text" else "---:" for column in table.columns]]
    for row in table.rows:
        told = [shown(cell, column.kind) for cell, column in zip(row, table.columns, strict=True)]
        lines.append([text(told[0]), *(text(cell, LONGEST_TEXT) for cell in told[1:])])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _notes(table: Table) -> str:
    told = [f"**{text(column.name)}**: {text(column.about)}" for column in table.columns if column.about]
    return f"{'; '.join(told)}.\n\n" if told else ""
