"""`make golden`: show which recorded trials, records and verdicts a change moves, then write them anew."""

from collections.abc import Iterator

from tests.golden.form import FOLDER, Golden, names, read, write
from tests.golden.recording import recorded, script_in, scripts


def main() -> None:
    """Play every script again; files that are new or differ are written."""
    FOLDER.mkdir(exist_ok=True)
    moved: list[Golden] = []
    for name in sorted({*names(), *scripts()}):
        before = read(name) if name in names() else None
        if before is not None and before.head.is_old:
            print(f"{name}: holds old versions, stays as it is")
            continue
        head, script = scripts()[name] if before is None else (before.head, script_in(before))
        now = recorded(name, head, script)
        if told := list(moves(before, now)):
            moved.append(now)
        print("\n  ".join([f"{name}: {'moves' if told else 'the same'}", *told]))
    for golden in moved:
        write(golden)
    print(f"{len(moved)} files written; look at the diff of {FOLDER.relative_to(FOLDER.parents[2])}")


def moves(before: Golden | None, now: Golden) -> Iterator[str]:
    """What differs, in words. The first record names versions and digests of code: it alone moves nothing."""
    if before is None:
        yield f"new: {len(now.records)} records, verdict {now.verdict['result']}"
        return
    pairs = list(zip(before.records[1:], now.records[1:], strict=False))
    differing = [(old, new) for old, new in pairs if old.body != new.body]
    if len(before.records) != len(now.records):
        yield f"{len(before.records)} records, now {len(now.records)}"
    if before.opened.layers != now.opened.layers:
        yield "it starts from other rows"
    if differing:
        old, new = differing[0]
        count = f"{len(differing)} records differ, the first is {old.position}"
        yield f"{count}: {old.topic}" + (f", now {new.topic}" if new.topic != old.topic else "")
    if before.verdict != now.verdict:
        results = before.verdict["result"], now.verdict["result"]
        yield f"verdict {results[0]}, now {results[1]}" if results[0] != results[1] else "other findings or checks"


if __name__ == "__main__":
    main()
