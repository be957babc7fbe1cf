"""The gate: a hook in front of every call, which allows it, refuses it or asks somebody, and what agents are shown."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from sandbox.effects import Effect, Effects, effects_of
from sandbox.records import Gated, ToolRefused, draft
from sandbox.refusals import Precondition, UserFault
from sandbox.world import Answer, Decision, World

NO_EFFECTS = "Your calls have changed no record."


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """
    What happens to calls for which every condition that is named here holds; without one, to every call.

    Amounts are numbers, also as text, in arguments at any depth whose name holds one of `amount_names`, whatever its
    case; their sign does not count. What several calls add up to is not seen.
    """

    action: Literal["allow", "refuse", "ask"]
    tools: tuple[str, ...] = ()
    writes: bool = False
    """Only calls that would change a record."""
    above: float | None = None
    """Only calls with an amount above this."""
    amount_names: tuple[str, ...] = ("amount", "price", "total")
    reason: str = ""
    """What the agent is told."""


class GateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A gate, as a configuration names it. The first rule that fits decides; where none does, a call is allowed."""

    rules: tuple[Rule, ...] = ()
    timeout_s: float = 120.0
    """How long a question to a person stands; after it the call is refused."""
    check_end_state: bool = False
    """Whether an agent that is about to finish is shown its own effects, once, and may go on."""


class GatedCall(Struct, frozen=True):
    """A call that would succeed, before it does."""

    tool: str
    arguments: Mapping[str, Any]
    effects: Effects
    """What it would change."""


class Approval(Struct, frozen=True):
    """A person's answer."""

    allowed: bool
    reason: str = ""


class Approver(Protocol):
    """Somebody who is asked about calls."""

    async def approve(self, call: GatedCall, timeout_s: float) -> Approval | None:
        """The answer; None if there was none in time, which counts from when the question is shown."""


class Gate:
    """
    The rules of a campaign and who is asked. One gate serves any number of trials.

    Raises:
        UserFault: a rule asks, and there is nobody to answer.
    """

    def __init__(self, settings: GateSettings, approver: Approver | None = None) -> None:
        if approver is None and any(rule.action == "ask" for rule in settings.rules):
            raise UserFault(
                "a rule of the gate asks, but nobody is there to answer; let it refuse, or run in a terminal"
            )
        self.settings = settings
        self._approver = approver

    async def passed(self, world: World, decision: Decision) -> Decision:
        """
        The decision as it is to be recorded: with the gate's own in it, and without any effect if that is no.

        Calls that are refused anyway, and repeated ones that cannot do anything, are not looked at.
        """
        if decision.answer.refusal or world.repeats(decision.request):
            return decision
        return ruled(decision, await self._gated(_call(world, decision)))

    async def _gated(self, call: GatedCall) -> Gated:
        rule = next((rule for rule in self.settings.rules if fits(rule, call)), None)
        if rule is None:
            return Gated("allow", True)
        if rule.action != "ask" or self._approver is None:
            return Gated(rule.action, rule.action == "allow", reason=rule.reason)
        approval = await self._approver.approve(call, self.settings.timeout_s)
        if approval is None:
            return Gated("ask", False, "timeout", rule.reason)
        return Gated("ask", approval.allowed, "person", approval.reason or rule.reason)


def ruled(decision: Decision, gated: Gated) -> Decision:
    """A decision with what the gate said in it; a pure function, so that a recorded trial can be made again."""
    called, *rest = decision.drafts
    said = draft(gated, called.time, from_call=True)
    if gated.allowed:
        return msgspec.structs.replace(decision, drafts=(called, said, *rest))
    because = f": {gated.reason}" if gated.reason else ""
    refused = Precondition(f"{decision.request.tool} was not approved{because}; nothing has changed")
    record = draft(ToolRefused(refused.kind, refused.message), called.time, from_call=True)
    return Decision(decision.request, (called, said, record), Answer(refused.message, refused.kind), None)


def fits(rule: Rule, call: GatedCall) -> bool:
    """Whether every condition of the rule holds for the call."""
    return (
        (not rule.tools or call.tool in rule.tools)
        and (not rule.writes or bool(call.effects))
        and (rule.above is None or any(value > Decimal(str(rule.above)) for value in amounts(rule, call.arguments)))
    )


def amounts(rule: Rule, arguments: Any, name: str = "") -> Iterator[Decimal]:
    """The size of every amount among the arguments."""
    if isinstance(arguments, Mapping):
        for key, value in arguments.items():
            yield from amounts(rule, value, name if _is_amount(rule, name) else str(key))
    elif isinstance(arguments, list):
        for value in arguments:
            yield from amounts(rule, value, name)
    elif _is_amount(rule, name) and isinstance(arguments, int | float | str) and not isinstance(arguments, bool):
        try:
            size = abs(Decimal(str(arguments).strip().lstrip("$€£").replace(",", "")))
        except InvalidOperation:
            return
        if size.is_finite():
            yield size


def _is_amount(rule: Rule, name: str) -> bool:
    return any(part.casefold() in name.casefold() for part in rule.amount_names)


def _call(world: World, decision: Decision) -> GatedCall:
    text = decision.request.arguments
    effects = () if decision.scratch is None else effects_of(world.overlay, decision.scratch)
    return GatedCall(decision.request.tool, msgspec.json.decode(text) if text.strip() else {}, effects)


def told_effects(effects: Sequence[Effect]) -> str:
    """Effects in words, a line for each; the same for the agent and for a person."""
    return "\n".join(_told(effect) for effect in effects) or NO_EFFECTS


def _told(effect: Effect) -> str:
    key = effect.key if effect.key.isprintable() else _json(effect.key)
    place = f"{effect.table} {key}"
    if effect.op == "deleted":
        return f"{place}: deleted"
    if effect.op == "inserted":
        return f"{place}: created {_json(effect.row)}"
    changes = ", ".join(f"{c.name} from {_json(c.before)} to {_json(c.after)}" for c in effect.changes)
    return f"{place}: {changes or 'deleted and created again'}"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
