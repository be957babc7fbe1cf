"""A verdict as a record that is kept beside the trials, never in a trial's own stream."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from judges.verdict import INPUTS, Evidence, Input, Verdict
from sandbox.effects import effects_digest
from sandbox.values import canonical, digest_of, plain

KIND = "judgement"
"""The kind of content under which a store keeps it."""


class Judgement(Struct, frozen=True):
    """The verdict of one judge bundle on one trial."""

    trial: str
    """Id of the trial."""
    domain: str
    """Digest of the domain code that folded the effects which were judged."""
    inputs: Mapping[str, str]
    """Digest of each piece of evidence that the judges read."""
    verdict: Verdict
    """Its findings joined to the trial's events, where they are at hand."""

    @property
    def bundle(self) -> str:
        """Digest of the judge bundle."""
        return self.verdict.bundle

    @property
    def name(self) -> str:
        """Under which it is kept: the same trial, bundle and inputs give the same name, whenever it is judged."""
        return f"{self.trial}/{digest_of([self.bundle, self.domain, dict(self.inputs), _answers(self.verdict)])}"


def inputs_of(evidence: Evidence, reads: Iterable[Input] = INPUTS) -> dict[str, str]:
    """Digest of each piece of evidence that is at hand and is read, as `JudgeBundle.reads` tells; all by default."""
    found: dict[str, str] = {}
    for name in sorted(reads):
        given = getattr(evidence, name)
        if name == "effects" and given is not None:
            found[name] = effects_digest(given)
        elif name == "events" and given is not None:
            found[name] = digest_of([[e.position, e.cause, e.topic, dict(e.fields)] for e in given])
        elif given is not None:
            found[name] = digest_of(plain(given))
    if evidence.fault:
        found["fault"] = digest_of(evidence.fault)
    return found


def encoded(judgement: Judgement) -> bytes:
    """The judgement as JSON, for good; the same judgement gives the same bytes."""
    return canonical(judgement)


def decoded(content: bytes) -> Judgement:
    """A judgement again; msgspec.ValidationError if the content is none."""
    return _decode(content)


def is_mixed(judgements: Sequence[Judgement]) -> bool:
    """Whether verdicts on trials of one task come from several bundles, so that they must not be summed up."""
    return len({judgement.bundle for judgement in judgements}) > 1


_decode = msgspec.json.Decoder(Judgement).decode


def _answers(verdict: Verdict) -> list[Any]:
    """What was answered from outside: rubrics are no evidence, but verdicts on them may differ."""
    return [[check.name, check.result, check.reason] for check in verdict.checks if check.kind == "rubric"]
