"""What a configuration would do, before it does it: who is asked where, whether they answer, and what it may cost."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import anyio
from msgspec.structs import replace

from judges.configuration import Configuration, Endpoint
from judges.lines import printable
from judges.pack_commands import Suite
from judges.spending import costs_of
from sandbox.archive import Archive, domain_of, sealed_in
from sandbox.censor import Censor
from sandbox.messages import User
from sandbox.model import Model
from sandbox.model_faults import ModelFault
from sandbox.prices import Cost, total
from sandbox.stream import Store

USUAL_BUCKETS = ("input", "output", "cache_read", "cache_write")
WITHIN_S = 60.0
"""For one token, failed attempts included."""


def told_plan(configuration: Configuration, suites: Sequence[Suite], repetitions: int) -> Iterator[str]:
    """What would run, in printable lines."""
    return map(printable, _plan(configuration, suites, repetitions))


def _plan(configuration: Configuration, suites: Sequence[Suite], repetitions: int) -> Iterator[str]:
    written = configuration.written
    yield f"agent {configuration.agent_name}: {_party(configuration, 'agent', written.agent.scripted)}"
    yield f"user: {_party(configuration, 'user', 'scripts' if configuration.scripts else 'none')}"
    votes = f", votes {written.judge.votes}" if written.judge else ""
    yield f"judge: {_party(configuration, 'judge', 'none')}{votes}"
    yield from dict.fromkeys(_short_keys(configuration))
    yield f"protocol: {configuration.protocol.__struct_config__.tag}"
    limits = written.limits
    yield "limits: " + ", ".join(f"{name} {getattr(limits, name)}" for name in limits.__struct_fields__)
    gate = written.gate
    yield f"gate: {f'{len(gate.rules)} rules, check_end_state {gate.check_end_state}' if gate else 'none'}"
    prices = configuration.prices
    yield f"prices: {f'{prices.source}, {prices.date}' if prices.prices else 'none'}"
    yield from dict.fromkeys(_unpriced(configuration))
    for suite in suites:
        count = len(suite.tasks)
        yield f"{suite.name}: {count} tasks × {repetitions} repetitions = {count * repetitions} trials"


def _party(configuration: Configuration, party: str, otherwise: str) -> str:
    endpoint = configuration.endpoints.get(party)
    return otherwise if endpoint is None else f"model {endpoint.settings.model} at {endpoint.address}"


def _unpriced(configuration: Configuration) -> Iterator[str]:
    """A line for each model whose price is not there, or not whole."""
    for endpoint in configuration.endpoints.values() if configuration.prices.prices else ():
        model = endpoint.settings.model
        price = configuration.prices.price_of(model)
        lacking = [name for name in USUAL_BUCKETS if price is not None and getattr(price, name) is None]
        if price is None:
            yield f"no price for model {model}: its calls are unpriced, unless it is served under a name that has one"
        elif lacking:
            yield f"the price of model {model} lacks {', '.join(lacking)}: calls that use these are unpriced"


def _short_keys(configuration: Configuration) -> Iterator[str]:
    for endpoint in configuration.endpoints.values():
        settings = endpoint.settings
        censor = Censor(settings.key.reveal())
        if settings.key and not censor.is_watching:
            told = f"key of model {settings.model} has {censor.length} characters: too few to be told from other words"
            yield f"{told}, so it is not looked for in what models say"


def checked_endpoints(configuration: Configuration, tell: Callable[[str], None]) -> int:
    """Ask each endpoint for one token, and tell what it says; how many cannot be asked."""
    parties: dict[int, tuple[Endpoint, list[str]]] = {}
    for party, endpoint in configuration.endpoints.items():
        parties.setdefault(id(endpoint), (endpoint, []))[1].append(party)
    faults = 0
    for endpoint, names in parties.values():
        told = anyio.run(_asked, endpoint)
        faults += isinstance(told, ModelFault)
        words = f"failed, {told.kind}: {told.message}" if isinstance(told, ModelFault) else told
        tell(printable(f"endpoint of {' and '.join(names)}: {words}"))
    return faults


async def _asked(endpoint: Endpoint) -> str | ModelFault:
    async with Model(replace(endpoint.settings, max_output_tokens=1)) as model:
        try:
            reply = await model.complete([User("Say yes.")], deadline=anyio.current_time() + WITHIN_S, occasion="check")
        except ModelFault as fault:
            return fault
    return f"answers as {reply.served or endpoint.settings.model}"


def estimated(configuration: Configuration, stores: Sequence[Path], trials: int, tasks: int = 0) -> str:
    """
    What so many trials would cost if each cost what the trials of earlier campaigns did on average.

    Args:
        tasks: that they are of; told where the earlier trials were of another number.
    """
    if not configuration.endpoints:
        return "$0, no model is asked"
    if not configuration.prices.prices:
        return "unknown, since the configuration has no prices"
    counts = [_trials_in(path) for path in stores]
    spent = total(cost for path in stores for cost in costs_of(path, configuration.prices).values())
    if not sum(counts):
        return "unknown; name an earlier campaign with --store"
    many = max(trials, 1)
    each = spent.usd / sum(counts)
    told = f"{Cost(each * many).shown()} for {many} trials, by {sum(counts)} earlier ones"
    earlier = sum(_tasks_in(path) for path in stores)
    told += f" of {earlier} tasks, not {tasks}" if tasks and earlier != tasks else ""
    return f"at least {told}, of which {spent.unpriced} calls are unpriced" if spent.unpriced else f"about {told}"


def _tasks_in(path: Path) -> int:
    with Store.open(path, read_only=True) as store:
        return len(sealed_in(store).tasks)


def _trials_in(path: Path) -> int:
    """Attempts that have ended in a store."""
    with Store.open(path, read_only=True) as store:
        return sum(1 for _ in Archive(store, domain_of(store)).closed())
