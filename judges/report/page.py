"""A report as one HTML page that needs nothing else: no script, no network, no other file."""

from collections.abc import Iterable
from html import escape

from judges.lines import cut
from judges.report.figures import Picture
from judges.report.report import Report, Section
from judges.report.table import Cell, Column, Table, shown

LONGEST_NAME = 60
"""Characters of a heading, or of the first cell of a row."""
LONGEST_TEXT = 400
"""Characters of any other text."""
WRAPPED = 40
"""Characters from which on a text may take several lines."""
TALL = 40
"""Rows from which on a table scrolls within itself."""

STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--dim:#595959;--line:#d0d0d0;--paper:#fff;--band:#f4f4f2;--link:#0b5394}
@media(prefers-color-scheme:dark){
 :root{--ink:#e8e8e6;--dim:#b0b0ac;--line:#4a4a48;--paper:#1b1b1a;--band:#272726;--link:#8ab8e6}
}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink)}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,header,footer{max-width:74rem;margin:0 auto;padding:0 1.25rem}
h1{font-size:1.75rem;line-height:1.2;margin:1.5rem 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.75rem 0 .25rem;padding-top:.5rem;border-top:1px solid var(--line)}
a{color:var(--link)}
.dim,figcaption,.notes,.about{color:var(--dim);font-size:.9rem}
.about,.notes{max-width:52rem;margin:.25rem 0 .75rem}
.summary{max-width:52rem;padding-left:1.2rem;overflow-wrap:anywhere}
.summary li{margin:.3rem 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
nav ul{padding:.6rem 0;margin:1rem 0 0;border-top:1px solid var(--line)}
.scroll{overflow:auto;border:1px solid var(--line);border-radius:4px;margin:.75rem 0;max-width:max-content}
.scroll:focus-visible{outline:2px solid var(--link)}
.tall{max-height:34rem}
figure{margin:1rem 0;display:grid;gap:.25rem 1.5rem;grid-template-columns:minmax(0,1fr)}
figure .scroll{background:#fff;margin:0;max-width:100%;width:max-content}
figure svg{display:block}
@media(min-width:1100px){figure{grid-template-columns:minmax(0,max-content) minmax(12rem,1fr);align-items:start}}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .55rem;text-align:left;vertical-align:top;white-space:nowrap}
thead th{position:sticky;top:0;background:var(--band);vertical-align:bottom;white-space:normal;min-width:4.5rem}
thead th.n{text-align:right}
tbody th{font-weight:600}
tbody tr+tr>*{border-top:1px solid var(--line)}
td.n{text-align:right}
th.w,td.w{white-space:normal;min-width:16rem;overflow-wrap:anywhere}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
footer{margin:3rem auto 2rem}
@media print{
 :root{--ink:#000;--dim:#333;--line:#999;--paper:#fff;--band:#eee;--link:#000}
 body{font-size:10pt}nav{display:none}main,header,footer{max-width:none;padding:0}
 @page{margin:12mm}
 .scroll,.tall{overflow:visible;max-height:none;border:0;max-width:100%}
 figure{display:block}figure svg{max-width:100%;max-height:255mm;height:auto}
 table{font-size:6.5pt}th,td{padding:.1rem .22rem}thead th{min-width:0}th.w,td.w{min-width:10em}
 .about,.notes{break-after:avoid}
 thead th{position:static}h2{break-after:avoid}figure,tr{break-inside:avoid}
}
""".strip()


def page(report: Report) -> str:
    """The whole page."""
    summary = "".join(f"<li>{text(sentence, LONGEST_TEXT)}</li>\n" for sentence in report.summary)
    contents = "".join(f'<li><a href="#{one.table.name}">{text(one.table.title)}</a></li>\n' for one in report.sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Even if a text came through unescaped, nothing would be run or fetched.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f'<title>{text(report.title, LONGEST_TEXT)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{text(report.title, LONGEST_TEXT)}</h1>\n"
        f'<p class="dim">Policy: {text(report.policy, LONGEST_TEXT)}.</p>\n'
        f'<ul class="summary">\n{summary}</ul>\n'
        f'<nav aria-label="Contents"><ul>\n{contents}</ul></nav>\n</header>\n'
        f"<main>\n{''.join(map(_section, report.sections))}</main>\n"
        f'<footer>\n<p class="dim">Made by Trialbox {text(report.version)}. The same numbers, unrounded, are beside '
        "this page: report.json, tables/ and figures/.</p>\n</footer>\n</body>\n</html>\n"
    )


def text(value: str, longest: int = LONGEST_NAME) -> str:
    """A text that others may have written, as HTML."""
    return escape(cut(value, longest))


def _section(section: Section) -> str:
    table = section.table
    return (
        f'<section id="{table.name}" aria-labelledby="{table.name}-title">\n'
        f'<h2 id="{table.name}-title">{text(table.title)}</h2>\n<p class="about">{escape(table.about)}</p>\n'
        f"{''.join(map(_figure, section.pictures))}{_table(table)}{_notes(table.columns)}</section>\n"
    )


def _figure(picture: Picture) -> str:
    return (
        f'<figure id="figure-{picture.name}">\n'
        f'<div class="scroll" tabindex="0" role="group" aria-label="Figure, scrolls sideways">\n'
        f"{picture.svg.decode()}\n</div>\n<figcaption>{escape(picture.caption)}</figcaption>\n</figure>\n"
    )


def _table(table: Table) -> str:
    heads = "".join(_head(column, table.rows, place) for place, column in enumerate(table.columns))
    rows = "".join(f"<tr>{_row(row, table.columns)}</tr>\n" for row in table.rows)
    tall = " tall" if len(table.rows) > TALL else ""
    return (
        f'<div class="scroll{tall}" tabindex="0" role="group" aria-label="Table, scrolls sideways">\n<table>\n'
        f'<caption class="hidden">{text(table.title)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )


def _head(column: Column, rows: Iterable[tuple[Cell, ...]], place: int) -> str:
    is_wide = column.kind == "text" and any(len(str(row[place])) > WRAPPED for row in rows)
    return f'<th scope="col"{_class("w" if is_wide else _side(column))}>{text(column.name)}</th>'


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...]) -> str:
    first, *others = (_told(cell, column) for cell, column in zip(row, columns, strict=True))
    cells = (
        f"<td{_class('w' if len(told) > WRAPPED and column.kind == 'text' else _side(column))}>"
        f"{text(told, LONGEST_TEXT)}</td>"
        for told, column in zip(others, columns[1:], strict=True)
    )
    return f'<th scope="row"{_class("w" if len(first) > WRAPPED else "")}>{text(first)}</th>{"".join(cells)}'


def _told(cell: Cell, column: Column) -> str:
    return shown(cell, column.kind)


def _side(column: Column) -> str:
    return "" if column.kind == "text" else "n"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _notes(columns: Iterable[Column]) -> str:
    """What columns mean whose names do not say it all."""
    told = [f"<b>{text(column.name)}</b>: {escape(column.about)}" for column in columns if column.about]
    return f'<p class="notes">{"; ".join(told)}.</p>\n' if told else ""
