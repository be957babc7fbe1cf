"""Figures of a published study: 18 agents, 507 tasks in five domains, 20 trials each."""

from fractions import Fraction
from typing import NamedTuple

from judges.metrics.counts import Counts
from judges.metrics.rounding import half_up
from tests.judges.metrics.samples import counted

TRIALS = 20
TASKS = {"retail": 98, "insurance": 100, "travel": 104, "neobank": 104, "consulting": 101}

CELLS: dict[str, tuple[str, ...]] = {
    # pass@1 in percent: the five domains, the total
    "Claude Opus 5.5": ("80.97", "68.40", "54.28", "71.25", "61.58", "67.16"),
    "Claude Opus 5": ("80.71", "65.80", "49.95", "70.62", "66.19", "66.50"),
    "GPT-5.4": ("76.33", "62.65", "68.12", "65.34", "54.60", "65.36"),
    "GPT-5.6 Sol": ("67.65", "65.30", "60.34", "59.09", "57.52", "61.91"),
    "Claude Sonnet 4.6": ("72.35", "54.40", "58.94", "56.39", "54.31", "59.19"),
    "GPT-6 Astra": ("71.73", "46.55", "55.87", "60.87", "56.83", "58.31"),
    "GPT-5.2": ("70.20", "22.40", "53.70", "51.15", "34.06", "46.28"),
    "Claude Opus 4.6": ("68.62", "8.30", "21.11", "35.67", "27.82", "32.09"),
    "o3-pro": ("37.70", "2.95", "17.31", "24.28", "14.60", "19.31"),
    "Grok-4.3": ("43.93", "2.60", "15.14", "1.78", "9.55", "14.38"),
    "Kimi-K3": ("82.24", "50.80", "61.83", "41.35", "51.63", "57.37"),
    "Qwen3.8-27B": ("64.03", "47.85", "53.41", "47.88", "45.69", "51.70"),
    "DeepSeek-V4-Pro": ("68.21", "29.65", "43.13", "44.86", "31.04", "43.26"),
    "Kimi-K2.6": ("53.72", "24.50", "39.52", "33.65", "37.33", "37.66"),
    "GLM-5.1": ("58.67", "25.70", "35.43", "13.27", "34.06", "33.19"),
    "Qwen3.6-27B": ("43.11", "29.00", "46.39", "27.84", "18.37", "32.94"),
    "Qwen3.5-9B": ("19.90", "0.70", "4.71", "1.15", "2.33", "5.65"),
    "Mistral-Large-3": ("11.28", "1.30", "8.99", "1.15", "0.74", "4.66"),
}

PASSES = {
    # Σ over domains, worked out independently from the announcement
    "Claude Opus 5.5": 6810,
    "Claude Opus 5": 6743,
    "GPT-5.4": 6628,
    "GPT-5.6 Sol": 6278,
    "Claude Sonnet 4.6": 6002,
    "GPT-6 Astra": 5913,
    "GPT-5.2": 4693,
    "Claude Opus 4.6": 3254,
    "o3-pro": 1958,
    "Grok-4.3": 1458,
    "Kimi-K3": 5817,
    "Qwen3.8-27B": 5242,
    "DeepSeek-V4-Pro": 4387,
    "Kimi-K2.6": 3819,
    "GLM-5.1": 3365,
    "Qwen3.6-27B": 3340,
    "Qwen3.5-9B": 573,
    "Mistral-Large-3": 473,
}


class Dependable(NamedTuple):
    """A row of the table of dependable tasks, as published or derived from it."""

    tasks: int
    share: str
    cost_of_20_runs: str
    per_task: str
    per_success: str
    retention: str


DEPENDABLE = {
    "GPT-5.4": Dependable(128, "25.25", "869.80", "6.80", "0.1312", "38.6"),
    "GPT-6 Astra": Dependable(231, "45.56", "1720.60", "7.45", "0.2910", "78.1"),
    "Claude Opus 5.5": Dependable(241, "47.53", "1880.77", "7.80", "0.2762", "70.8"),
    "GPT-5.6 Sol": Dependable(82, "16.17", "800.00", "9.76", "0.1274", "26.1"),
    "Claude Opus 5": Dependable(241, "47.53", "3206.00", "13.30", "0.4754", "71.5"),
    "Claude Sonnet 4.6": Dependable(102, "20.12", "1587.60", "15.56", "0.2645", "34.0"),
    "GPT-5.2": Dependable(44, "8.68", "878.00", "19.95", "0.1871", "18.8"),
    "Kimi-K3": Dependable(68, "13.41", "1406.40", "20.68", "0.2418", "23.4"),
    "Qwen3.8-27B": Dependable(38, "7.50", "925.80", "24.36", "0.1766", "14.5"),
}


def passes_behind(cell: str, tasks: int) -> int:
    """The whole number of passes nearest to a published percentage."""
    return int(half_up(Fraction(cell) / 100 * tasks * TRIALS, 0))


def domain_passes(agent: str) -> dict[str, int]:
    """Passes by domain, worked back from the published cells."""
    return {
        domain: passes_behind(cell, tasks) for (domain, tasks), cell in zip(TASKS.items(), CELLS[agent], strict=False)
    }


def by_domain(agent: str) -> list[Counts]:
    """Counts that have the published rates by domain; the spread over the tasks of a domain is made up."""
    return [
        item
        for domain, passes in domain_passes(agent).items()
        for item in counted(evenly(passes, TASKS[domain]), TRIALS, agent=agent, domain=domain)
    ]


def by_reliability(agent: str, every_time: int, never: int) -> list[Counts]:
    """Counts with the published total, consistency and breadth; the passes between are spread evenly over the rest."""
    rest = sum(TASKS.values()) - every_time - never
    middle = evenly(PASSES[agent] - every_time * TRIALS, rest)
    return counted([TRIALS] * every_time + [0] * never + middle, TRIALS, agent=agent, domain="all")


def evenly(passes: int, tasks: int) -> list[int]:
    """So many passes over so many tasks, as even as can be."""
    return [passes // tasks + (place < passes % tasks) for place in range(tasks)]
