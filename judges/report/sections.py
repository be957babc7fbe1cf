"""The tables of a study."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from judges.metrics.comparison import compare
from judges.metrics.corrections import holm
from judges.metrics.cost import Bill, UnitCost, costs
from judges.metrics.counts import Counts, settled
from judges.metrics.failures import FINDINGS, Failures, mean_share, recoveries
from judges.metrics.frontier import Place, Point, frontier, point, steps
from judges.metrics.rates import Rate, rate
from judges.metrics.signatures import GROUPS, NAMES
from judges.metrics.statistic import PASS_AT_1, Statistic
from judges.metrics.study import Agent, Study
from judges.report.table import AtLeast, Cell, Column, Table
from sandbox.prices import Cost

OPEN = "what is missing, and what the policy leaves open, is no failure and no pass: see the table of coverage"
PARTIES = ("agent", "user", "judge")
PLACES: dict[Place, str] = {"on": "on the frontier", "off": "off", "unsure": "cannot be told: a price is missing"}


def leaderboard(study: Study) -> Table:
    """Agents by pass@1, over all tasks and in each domain."""
    domains = study.domains if len(study.domains) > 1 else []
    k = study.repetitions
    columns = (
        Column("agent"),
        Column("tasks", "count"),
        Column("pass@1", "share", "mean over tasks"),
        Column("± std. error", "error", "in points, with the task as the cluster"),
        Column("95% low", "share"),
        Column("95% high", "share"),
        *(Column(f"pass@1 {domain}", "share") for domain in domains),
        *((Column(f"pass^{k}", "share", f"every one of {k}, unbiased"),) if k > 1 else ()),
        Column("judged of planned", "share", "coverage"),
    )
    rows = sorted((_leader(agent, study, domains) for agent in study.agents), key=_by_share(2))
    about = (
        f"pass@1 is the share of trials that pass, c/n of each task, as a mean over tasks; pass^{k} is the chance that "
        f"{k} attempts all pass, C(c,{k})/C(n,{k}) of each task. Policy: {study.policy.name}; {OPEN}."
    )
    return Table("leaderboard", "Leaderboard", about, columns, tuple(rows))


def _leader(agent: Agent, study: Study, domains: Sequence[str]) -> tuple[Cell, ...]:
    found = rate(agent.counts, PASS_AT_1, policy=study.policy)
    own = agent.domains
    by_domain = [_estimate(own[name], PASS_AT_1, study) if name in own else None for name in domains]
    k = study.repetitions
    every = [_estimate(agent.counts, Statistic("pass^k", k), study)] if k > 1 else []
    covered = agent.observed.coverage
    judged = Fraction(covered.judged, covered.planned) if covered.planned else None
    error = None if found.standard_error is None else Fraction(found.standard_error)
    return (agent.name, len(agent.counts), found.exact, error, *_interval(found), *by_domain, *every, judged)


def _interval(found: Rate) -> tuple[Cell, Cell]:
    return (None, None) if found.interval is None else (found.interval.low, found.interval.high)


def _estimate(counts: Sequence[Counts], statistic: Statistic, study: Study) -> Fraction | None:
    return rate(counts, statistic, policy=study.policy).exact


def _by_share(place: int) -> Callable[[tuple[Cell, ...]], tuple[bool, Fraction, str]]:
    """The largest first, those without one last; equal ones by name."""

    def key(row: tuple[Cell, ...]) -> tuple[bool, Fraction, str]:
        share = row[place]
        return share is None, -Fraction(share) if isinstance(share, Fraction) else Fraction(0), str(row[0])

    return key


def dependability(study: Study) -> Table:
    """Best of k, every one of k, and how much of the success is left when it must come every time."""
    k = study.repetitions
    columns = (
        Column("agent"),
        Column("tasks", "count"),
        Column("trials per task", "text"),
        Column("pass@1", "share", "trials that pass ÷ trials"),
        Column("best of n", "text", "breadth: tasks passed at least once, a literal count"),
        Column(f"pass@{k}", "share", f"best of {k}, unbiased"),
        Column("every one of n", "text", "consistency: tasks passed every time, a literal count"),
        Column(f"pass^{k}", "share", f"every one of {k}, unbiased"),
        Column("never", "text", "tasks never passed"),
        Column("retention", "share", "share of tasks passed every time ÷ pass@1"),
    )
    rows = sorted((_dependable(agent, study) for agent in study.agents), key=_by_share(9))
    about = (
        "Best of n says what an agent can do, every one of n what it can be relied on for. Counts are of the "
        "repetitions that were planned, and a range where some have no result yet; estimates are over the tasks with "
        f"{k} trials or more. Policy: {study.policy.name}."
    )
    return Table("dependability", "Best of n, every one of n, retention", about, columns, tuple(rows))


def _dependable(agent: Agent, study: Study) -> tuple[Cell, ...]:
    seen, k = agent.observed, study.repetitions
    return (
        agent.name,
        seen.tasks,
        seen.trials_per_task,
        Fraction(seen.passed, seen.trials) if seen.trials else None,
        f"{seen.at_least_once.shown} of {seen.tasks}",
        _estimate(agent.counts, Statistic("pass@k", k), study),
        f"{seen.every_time.shown} of {seen.tasks}",
        _estimate(agent.counts, Statistic("pass^k", k), study),
        f"{seen.never.shown} of {seen.tasks}",
        seen.retention,
    )


def cost(study: Study) -> Table | None:
    """What attempts, successes and dependable tasks cost; None if no agent asked a model."""
    priced = [agent for agent in study.agents if agent.bill is not None]
    if not priced:
        return None
    columns = (
        Column("agent"),
        Column("attempts", "count", "also those that broke and were made again"),
        *(Column(f"{party} $", "usd") for party in PARTIES),
        *(Column(f"$ per {of}", "usd") for of in ("attempt", "success", "dependable task")),
        Column("$ per success, with user and judge", "usd"),
        Column("$ per dependable task, with user and judge", "usd"),
        Column("on pass@1", "text", "frontier of $ per attempt and pass@1"),
        Column("on dependable tasks", "text", "frontier of $ per attempt and tasks passed every time"),
        Column("calls without a price", "count"),
    )
    places = [dict(zip([p.agent for p in found], frontier(found), strict=True)) for found in points(study)]
    rows = [_priced(agent, [PLACES[place[agent.name]] for place in places]) for agent in priced]
    about = (
        "Every attempt is paid for, also those that broke. The cost of the agent alone, unless the column says that "
        "of the simulated user and of the judge is in it. ≥: some calls have no price. An agent is on a frontier if "
        "no other is at most as expensive and at least as good. A dependable task is one that was passed every time."
    )
    return Table("cost", "Cost", about, columns, tuple(rows))


def _priced(agent: Agent, places: Sequence[str]) -> tuple[Cell, ...]:
    bill = agent.bill or Bill()
    alone, together = (costs(bill, agent.attempts, agent.observed, user=is_in, judge=is_in) for is_in in (False, True))
    spent = [getattr(bill, party) for party in PARTIES]
    units = (alone.attempt, alone.success, alone.dependable, together.success, together.dependable)
    unpriced = sum(cost.unpriced for cost in spent)
    return (agent.name, agent.attempts, *map(_money, (*spent, *units)), *places, unpriced)


def _money(cost: Cost | UnitCost) -> Cell:
    return cost.usd if cost.usd is None or not cost.is_lower_bound else AtLeast(cost.usd)


def points(study: Study) -> tuple[list[Point], list[Point]]:
    """Cost per attempt against pass@1, and against the number of tasks passed every time, of agents with a cost."""
    one: list[Point] = []
    every: list[Point] = []
    for agent in study.agents:
        if agent.bill is not None:
            attempt = costs(agent.bill, agent.attempts, agent.observed, user=False, judge=False).attempt
            one.append(point(agent.name, attempt, _estimate(agent.counts, PASS_AT_1, study) or Fraction(0)))
            every.append(point(agent.name, attempt, agent.observed.every_time.least))
    return one, every


def frontier_steps(study: Study) -> Table | None:
    """What the next dearer agent on a frontier buys; None if no frontier has two agents."""
    rows: list[tuple[Cell, ...]] = []
    for name, found in zip(("pass@1", "dependable tasks"), points(study), strict=True):
        for step in steps(found):
            more = step.more_good if name == "pass@1" else None
            tasks = int(step.more_good) if name != "pass@1" else None
            rows.append((name, step.cheaper, step.dearer, step.more_cost, more, tasks))
    columns = (
        Column("frontier"),
        Column("from"),
        Column("to the next dearer"),
        Column("$ more per attempt", "usd"),
        Column("pass@1 more", "points"),
        Column("dependable tasks more", "count"),
    )
    about = "From the cheapest agent on each frontier to the dearest. A dash: the price of either is a lower bound."
    return Table("frontier", "Steps along the frontiers", about, columns, tuple(rows)) if rows else None


def groups(study: Study) -> Table | None:
    """Failed trials by group, and how many looked clean; None without a failed trial."""
    rows: list[tuple[str, Callable[[Failures], int]]] = [(name, lambda f, name=name: f.groups[name]) for name in GROUPS]  # type: ignore[misc]
    rows += [(f"found {kind}", lambda f, kind=kind: f.findings[kind]) for kind in FINDINGS]  # type: ignore[misc]
    rows += [("looked clean", lambda f: f.looks_clean)]
    about = (
        "Shares of an agent's failed trials. Each has one group. Findings may overlap. Looked clean: it ended "
        "normally, changed a record, and the last answer of a tool was no refusal. The mean is over agents, each "
        "weighs the same. Agents whose results were imported are left out: nobody knows what their trials did."
    )
    return _shares("failures", "Failures", about, study, rows)


def signatures(study: Study) -> Table | None:
    """Failed trials by signature; None without one."""
    rows: list[tuple[str, Callable[[Failures], int]]] = [
        (name, lambda f, name=name: f.signatures[name])  # type: ignore[misc]
        for name in NAMES
    ]
    about = (
        "Shares of an agent's failed trials: what each shows first, by the order of the rules. It is no proof of a "
        "cause. Agents whose results were imported are left out."
    )
    return _shares("signatures", "Failure signatures", about, study, rows)


def _shares(
    name: str, title: str, about: str, study: Study, parts: Sequence[tuple[str, Callable[[Failures], int]]]
) -> Table | None:
    failed = [one for agent in study.agents if (one := agent.failures).failed and one.signed == one.failed]
    if not failed:
        return None
    columns = (Column("agent"), Column("failed", "count"), *(Column(part, "share") for part, _ in parts))
    rows: list[tuple[Cell, ...]] = [
        (one.agent, one.failed, *(one.share(number(one)) for _, number in parts)) for one in failed
    ]
    if len(failed) > 1:
        rows.append(("mean of shares", None, *(mean_share(failed, number) for _, number in parts)))
    return Table(name, title, about, columns, tuple(rows))


def recovery(study: Study) -> Table | None:
    """What became of trials that met a refusal; None if none did."""
    columns = (
        Column("agent"),
        Column("refusal"),
        Column("trials that met it", "count"),
        Column("made good", "share"),
        Column("passed", "share"),
    )
    rows = [
        (agent.name, one.refusal, one.met, Fraction(one.made_good, one.met), Fraction(one.passed, one.met))
        for agent in study.agents
        for one in recoveries(agent.notes)
    ]
    about = (
        "Of the trials in which a call was declined: in how many every such call was made good, and how many passed."
    )
    return Table("recovery", "Recovery from refused calls", about, columns, tuple(rows)) if rows else None


def coverage(study: Study) -> Table:
    """How every planned repetition ended."""
    names = ("passed", "failed", "ungradeable", "infrastructure", "missing")
    columns = (
        Column("agent"),
        Column("tasks", "count"),
        Column("refusal or no change", "count", "tasks that are passed by changing nothing"),
        Column("planned", "count"),
        *(Column(name, "count") for name in names),
        Column("user faults", "count", "among passed and failed"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            agent.name,
            len(agent.counts),
            sum(item.refusal for item in agent.counts),
            *(_sum(agent.counts, name) for name in ("planned", *names, "user_faults")),
        )
        for agent in study.agents
    )
    about = (
        "Each planned repetition is in one of passed, failed, ungradeable (nobody could judge it), infrastructure (all "
        f"its attempts broke on our side) and missing. Policy of the rates: {study.policy.name}."
    )
    return Table("coverage", "Coverage", about, columns, rows)


def _sum(counts: Iterable[Counts], name: str) -> int:
    return sum(getattr(item, name) for item in counts)


def heat(study: Study) -> Table:
    """The share of trials that passed, of each agent at each task."""
    found = {(agent.name, f"{item.domain} {item.task}"): item for agent in study.agents for item in agent.counts}
    tasks = list(dict.fromkeys(task for _, task in found))
    names = [agent.name for agent in study.agents]
    shares = {key: _share(item, study) for key, item in found.items()}
    by_task = {task: [shares.get((name, task)) for name in names] for task in tasks}
    rows: list[tuple[Cell, ...]] = [
        (task, *by_task[task]) for task in sorted(by_task, key=lambda task: (_mean(by_task[task]), task))
    ]
    columns = (Column("task"), *(Column(name, "share") for name in names))
    about = "pass@1 of each agent at each task, c/n; the hardest task first. A dash: no trial that counts."
    return Table("tasks", "Tasks", about, columns, tuple(rows))


def _share(counts: Counts, study: Study) -> Fraction | None:
    sample = settled(counts, study.policy)
    return Fraction(sample.passed, sample.trials) if sample.trials else None


def _mean(shares: Sequence[Fraction | None]) -> Fraction:
    known = [share for share in shares if share is not None]
    return sum(known, Fraction(0)) / len(known) if known else Fraction(0)


def comparisons(study: Study) -> Table | None:
    """Every agent beside the one that leads; None with fewer than two agents that share a task."""
    order = [str(name) for name in leaderboard(study).column("agent")]
    by_name = {agent.name: agent for agent in study.agents}
    first, *others = (by_name[name] for name in order)
    made = [compare(first.counts, other.counts, policy=study.policy) for other in others]
    made = [one for one in made if one.p is not None]
    if not made:
        return None
    adjusted = holm([one.p.value for one in made if one.p is not None])
    rows: list[tuple[Cell, ...]] = []
    for one, corrected in zip(made, adjusted, strict=True):
        low, high = (None, None) if one.interval is None else (one.interval.low, one.interval.high)
        p = None if one.p is None else one.p.value
        rows.append((one.first, one.second, one.tasks, one.exact, low, high, p, corrected))
    columns = (
        Column("leader"),
        Column("other"),
        Column("tasks compared", "count"),
        Column("difference in pass@1", "points"),
        Column("95% low", "points"),
        Column("95% high", "points"),
        Column("p", "p", "paired permutation test"),
        Column("p corrected", "p", "Holm, over all lines"),
    )
    about = (
        "Differences over the tasks that both were given, paired by task, the task as the cluster. p: how often chance "
        "alone makes a difference as large, by flipping the signs of the tasks' differences."
    )
    return Table("comparisons", "Is the lead more than chance?", about, columns, tuple(rows))
