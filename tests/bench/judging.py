"""What judging a closed trial from its effects costs."""

from collections.abc import Callable
from timeit import repeat

from judges.compare import Required
from judges.expectation import Accepted, Expectation, GoldenCall
from judges.outcome import Outcome
from judges.profile import profile_of
from judges.verdict import Evidence, bundle_of, judged
from sandbox.task import Task
from tests.bench import Line
from tests.judges.shop import START, Script, after, domain, edit, new, refunded

MOST_US = 100.0

ONE: Script = [refunded()]
TEN: Script = [
    new("orders", customer="C-1"),
    new("orders", customer="C-2"),
    new("lines", order="ORD-3", sku="mug"),
    new("lines", order="ORD-4", sku="pen"),
    new("shipments", lines=["LIN-1"]),
    new("reservations", order="ORD-3", sku="mug", quantity=1),
    refunded("ORD-1", 25),
    refunded("ORD-2", 30),
    edit("orders", "ORD-1", status="hold"),
    edit("customers", "C-1", address="2 Oak Road"),
]
SWAPPED: Script = [*TEN[:6], TEN[7], TEN[6], *TEN[8:]]


def measure() -> list[Line]:
    """Times of one verdict, and of one comparison that needs more than a look."""
    return [
        _line("verdict, one effect, pass", _verdict(ONE, ONE)),
        _line("verdict, ten effects, pass", _verdict(TEN, TEN)),
        _line("verdict, one wrong field", _verdict(ONE, [refunded(amount=30)])),
        _line("comparison, ten effects, new rows in another order", _comparison(TEN, SWAPPED), None),
        _line("comparison, 300 equal new rows, one too few", _comparison(ONE * 300, ONE * 299), None),
    ]


def _verdict(golden: Script, trial: Script) -> Callable[[], object]:
    calls = tuple(GoldenCall(f"shop_{tool}", arguments) for tool, arguments in golden)
    bundle = bundle_of(domain, Task("t", "shop", START, "hello"), Expectation((Accepted("golden", calls),)))
    evidence = Evidence(after(trial).effects)
    return lambda: judged(bundle, evidence)


def _comparison(golden: Script, trial: Script) -> Callable[[], object]:
    outcome = Outcome("golden", after(golden).effects)
    required = Required(outcome, domain, domain.snapshot, profile_of(domain, {}, "t"))
    effects = after(trial).effects
    return lambda: required.compare(effects)


def _line(name: str, work: Callable[[], object], most_us: float | None = MOST_US) -> Line:
    number = 50
    took_us = min(repeat(work, number=number, repeat=5)) / number * 1e6
    target = "" if most_us is None else f"at most {most_us:.0f} µs"
    return Line(name, f"{took_us:.1f} µs", target, None if most_us is None else took_us <= most_us)
