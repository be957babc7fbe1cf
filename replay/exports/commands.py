"""`trialbox export`."""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judges.store_paths import stores_among
from replay.exports.inspect_log import export_inspect
from replay.exports.otlp_file import export_file
from replay.exports.parquet import export_parquet
from replay.exports.source import Source, opened_sources
from sandbox.refusals import UserFault

TRACES = "/v1/traces"
"""Where receivers take traces, unless somebody says otherwise."""
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)")


def add_to(commands: Any) -> None:
    """The command, with a form for each kind of tool that reads it."""
    exporting = commands.add_parser("export", help="write campaigns as a data set, as Inspect logs or as traces")
    forms = exporting.add_subparsers(dest="form", metavar="FORMAT", required=True)
    table = forms.add_parser("parquet", help="a data set for the Hugging Face hub: a folder of Parquet files")
    table.add_argument("--licence", default="unknown", help="for its card, as the hub names it (default: unknown)")
    logs = forms.add_parser("inspect", help="a folder with an Inspect log for each campaign")
    logs.add_argument("--mixed", action="store_true", help="sum up verdicts of different judge bundles too")
    traces = forms.add_parser("otel", help="OpenTelemetry traces: a file of OTLP in JSON, or sent to a receiver")
    traces.add_argument("--endpoint", metavar="URL", help="send them by OTLP over HTTP instead of writing a file")
    traces.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="goes with what is sent")
    traces.add_argument("--no-content", action="store_true", help="leave out what was said, asked and answered")
    for form, run in ((table, _parquet), (logs, _inspect), (traces, _otel)):
        form.add_argument("store", type=Path, nargs="+", help="a store or a sealed campaign")
        form.add_argument("-o", "--output", type=Path, required=form is not traces, help="what is made")
        form.set_defaults(run=run)
    for form in (table, logs):
        form.add_argument("--with-required", action="store_true", help="findings tell what was required: golden data")


def _parquet(options: argparse.Namespace) -> int:
    with opened_sources(stores_among(options.store)) as sources:
        trials = export_parquet(sources, options.output, licence=options.licence, with_required=options.with_required)
        print(f"{trials} trials in {options.output}{_left_out(sources)}")
    return 0


def _inspect(options: argparse.Namespace) -> int:
    with opened_sources(stores_among(options.store)) as sources:
        names = export_inspect(sources, options.output, with_required=options.with_required, mixed=options.mixed)
        trials = sum(sum(source.results.values()) for source in sources)
        print(f"{trials} trials in {len(names)} logs in {options.output}{_left_out(sources)}")
    return 0


def _otel(options: argparse.Namespace) -> int:
    if (options.output is None) == (options.endpoint is None):
        raise UserFault("say where the traces go: a file with -o FILE, or a receiver with --endpoint URL")
    with opened_sources(stores_among(options.store)) as sources:
        if options.output is not None:
            where, trials = options.output, export_file(sources, options.output, with_content=not options.no_content)
        else:
            where = traces_url(options.endpoint)
            trials = _sent(sources, where, headers_in(options.header), with_content=not options.no_content)
        print(f"{trials} trials in {where}{_left_out(sources)}")
    return 0


def _sent(sources: Iterable[Source], url: str, headers: Mapping[str, str], *, with_content: bool) -> int:
    try:
        from replay.exports.otlp_http import export_http
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("opentelemetry"):
            raise
        raise UserFault(
            "traces are sent by opentelemetry, which is not installed; install it with: pip install 'trialbox[otel]', "
            "or write a file with -o FILE"
        ) from None
    return export_http(sources, url, headers, with_content=with_content)


def _left_out(sources: Sequence[Source]) -> str:
    broken, forks = sum(source.broken for source in sources), sum(source.forks for source in sources)
    told = [f"{broken} attempts that broke on our side"] * bool(broken) + [f"{forks} forks"] * bool(forks)
    return f"; left out: {', '.join(told)}" if told else ""


def headers_in(given: Sequence[str]) -> dict[str, str]:
    """Headers as a command line gives them, NAME=VALUE; UserFault, without the value, if one is none."""
    found: dict[str, str] = {}
    for place, text in enumerate(given, 1):
        matched = _HEADER.fullmatch(text)
        if matched is None:
            raise UserFault(f"--header number {place} cannot be sent; write NAME=VALUE in printable ASCII")
        found[matched[1]] = matched[2]
    return found


def traces_url(endpoint: str) -> str:
    """Where traces are sent; UserFault if the endpoint is no URL of HTTP."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UserFault(f"{endpoint!r} is no endpoint; write a URL such as http://localhost:4318")
    return endpoint if parts.path.strip("/") else parts._replace(path=TRACES).geturl()
