"""The failed trials of a store, one by one."""

from contextlib import closing
from pathlib import Path

from judges.metrics.signatures import NORMAL_ENDS
from judges.read_models import ensure_whole, opened_views, views_path
from sandbox.archive import recorded_in
from sandbox.stream import Store
from sandbox.view_rows import Case


def cases_of(path: Path) -> list[Case]:
    """
    Every failed trial that counts, task by task. The newest verdict on each counts.

    Raises:
        OnlyResults: the store holds imported results, of whose trials nothing else is known.
        StreamFault: a trial that was judged has lost its end.
    """
    with Store.open(path, read_only=True) as store, closing(opened_views(store, views_path(path))) as views:
        recorded_in(store)
        ensure_whole(store, views)
        return views.cases()


def looks_clean(case: Case) -> bool:
    """Whether a failed trial ended normally, changed something, and its last call was not declined."""
    return case.end in NORMAL_ENDS and bool(case.wrote) and bool(case.last_is_good)
