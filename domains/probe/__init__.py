"""Probe: a small shop whose records and tools hold what graders of records get wrong."""

from domains.probe import messages, orders, refunds, tickets
from domains.probe.desk import probe
from sandbox import Domain

__all__ = ["domain", "messages", "orders", "probe", "refunds", "tickets"]

domain = Domain("probe", probe.mount(prefix=""), package="domains.probe")
