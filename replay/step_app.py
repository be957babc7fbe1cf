"""`trialbox step`: a walk through a recorded trial in the terminal."""

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from judges.lines import cut, line, printable
from replay.keyframes import EVENT, EVERY, kind_of
from replay.look import blamed, distances_of, head_of
from replay.step_panels import call_text, changes_text, dialogue_text, event_text, fields_of, head_text, records_text
from replay.stored import StoredTrial
from replay.timeline import payload_of
from replay.told import DIFFERS, blamed_lines, distance_lines, effect_lines, head_lines
from sandbox.fold import UnknownTopic
from sandbox.refusals import UserFault
from sandbox.store_file import StreamFault

KEYS = """\
j ↓   next record             k ↑   previous record
PgDn  ten records on          PgUp  ten records back
g     first record            G     last record; :0 is the snapshot before the first
n     next change             N     previous change
r     next refusal            f     next finding
l →   next field              h ←   previous field
b     who wrote the selected field, and where the agent saw the value
e     effects so far, and the distance to each accepted outcome
:     jump to a position      /     search in all texts; empty: again
?     this help               q     quit, as Ctrl-C does
►     stands at the events that findings point at"""
LEAST_WIDTH, LEAST_HEIGHT = 40, 16
"""Columns and lines below which panels show little but their headings."""
HINT = "j/k step  n/N change  r refusal  f finding  h/l field  b blame  : /  ? help  q quit"
MOST_LINES = 400
"""Effects that the list on `e` shows."""
START = "the snapshot, before the first record"
NEAR = 1
"""Keyframes away that a line of the dialogue is looked for."""
SHORT = 5 * EVERY
"""Up to so many records the distance is told at every step; in longer trials on `e`."""


class Sheet(ModalScreen[None]):
    """Lines over the panels, to be read and closed."""

    CSS = """
    Sheet { align: center middle; }
    Sheet VerticalScroll { width: 96%; height: auto; max-height: 90%; border: round $accent; background: $surface; }
    """
    AUTO_FOCUS = "VerticalScroll"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,b,e,question_mark,enter", "dismiss")]

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__()
        self.text = "\n".join(map(printable, lines))

    def compose(self) -> ComposeResult:
        """The lines alone."""
        with VerticalScroll():
            yield Static(Text(self.text), id="sheet")


class Panel(Static):
    """A part of the screen whose text depends on its height."""

    class Resized(Message):
        """It has another height now."""

    def on_resize(self) -> None:
        """Tell the app."""
        self.post_message(self.Resized())


class StepApp(App[None]):
    """
    One trial, record by record.

    Args:
        position: where to begin.
    """

    CSS = """
    #head { height: 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    #foot { height: 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    #prompt { height: 1; border: none; padding: 0; display: none; }
    Horizontal { height: 1fr; }
    .panel { border-top: solid $accent; border-title-color: $text; width: 1fr; height: 1fr; overflow: hidden; }
    #records { height: 3fr; text-wrap: nowrap; text-overflow: ellipsis; }
    #event { height: 2fr; }
    #dialogue { height: 3fr; }
    #call { height: 3fr; }
    #changes { height: 4fr; text-wrap: nowrap; text-overflow: ellipsis; }
    #left { width: 1fr; margin-right: 1; }
    #right { width: 1fr; }
    #small { display: none; }
    .-small > * { display: none; }
    .-small > #small { display: block; }
    """
    TITLE = "trialbox step"
    AUTO_FOCUS = None
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "step(1)"),
        Binding("k,up", "step(-1)"),
        Binding("pagedown,space", "step(10)"),
        Binding("pageup", "step(-10)"),
        Binding("g,home", "go(1)"),
        Binding("G,end", "go(-1)"),
        Binding("n", "next_change"),
        Binding("N", "previous_change"),
        Binding("r", "next_refusal"),
        Binding("f", "next_finding"),
        Binding("l,right", "field(1)"),
        Binding("h,left", "field(-1)"),
        Binding("b", "blame"),
        Binding("e", "effects"),
        Binding("colon", "ask(':')"),
        Binding("slash", "ask('/')"),
        Binding("question_mark", "help"),
        Binding("escape", "leave"),
        Binding("q", "quit"),
        Binding("ctrl+c", "quit", priority=True),
    ]

    def __init__(self, trial: StoredTrial, position: int = 1) -> None:
        super().__init__()
        self.trial = trial
        self.timeline = trial.timeline
        self.head = head_of(trial)
        self.marked = frozenset(finding.position for finding in self.head.findings)
        self.position = min(max(position, 0), self.timeline.length)
        self.selected = 0
        self.fields = fields_of(())
        self.wanted = ""
        self.asking = ""
        self.fault: Exception | None = None

    def compose(self) -> ComposeResult:
        """Records and the current one on the left; dialogue, call and changed rows on the right."""
        yield Static(id="head")
        with Horizontal():
            with Vertical(id="left"):
                yield Panel(id="records", classes="panel")
                yield Static(id="event", classes="panel")
            with Vertical(id="right"):
                yield Static(id="dialogue", classes="panel")
                yield Static(id="call", classes="panel")
                yield Panel(id="changes", classes="panel")
        yield Static(f"too small: make it {LEAST_WIDTH} × {LEAST_HEIGHT} at least; q quits", id="small")
        yield Static(id="foot")
        yield Input(id="prompt")

    def on_mount(self) -> None:
        """Name the panels."""
        titles = {"records": "records", "event": "record", "dialogue": "dialogue", "call": "call"}
        for name, title in {**titles, "changes": "changed rows"}.items():
            self.query_one(f"#{name}", Static).border_title = title
        self.tell(HINT if self.head.fold == "same" else DIFFERS)
        self.call_after_refresh(self.arrive, self.position)

    def on_resize(self, event: Resize) -> None:
        """Say so where there is no room for the panels."""
        is_small = event.size.width < LEAST_WIDTH or event.size.height < LEAST_HEIGHT
        self.screen_stack[0].set_class(is_small, "-small")

    def on_panel_resized(self) -> None:
        """Fill the panels anew."""
        self.draw()

    def arrive(self, position: int) -> None:
        """Go to a position that is there, and show it; a damaged stream ends the walk."""
        try:
            self.position = position
            self.fields = fields_of(self.timeline.changed_by(position) if position else ())
            self.selected = 0
            self.draw()
        except (UnknownTopic, StreamFault, UserFault) as fault:
            self.fault = fault
            self.exit()

    def move(self, position: int | None, otherwise: str, told: str = HINT) -> None:
        """Go to a position, or say why there is none."""
        if position is None:
            self.tell(otherwise)
            return
        far = abs(position - self.position) > SHORT
        self.tell("reading…" if far else told)
        if far:
            self.call_after_refresh(self.arrive, position)
            self.call_after_refresh(self.tell, told)
        else:
            self.arrive(position)

    def draw(self) -> None:
        """Fill the panels."""
        timeline, position, domain = self.timeline, self.position, self.trial.domain
        record = timeline.record(position) if position else None
        height = self.query_one("#records").content_size.height
        first = max(1, min(position - height // 2, timeline.length - height + 1))
        window = timeline.window(first, first + height - 1)
        changes = changes_text(self.fields, self.selected, self.query_one("#changes").content_size.height)
        self.put("head", head_text(self.head, position, record.time if record else "", self.distance()))
        self.put("records", records_text(window, position, self.marked, domain))
        self.put("event", event_text(record.topic, payload_of(record, domain)) if record else Text(START, "dim"))
        self.put("dialogue", dialogue_text(timeline.dialogue(position, within=NEAR), position))
        self.put("call", call_text(timeline.call_before(position)))
        self.put("changes", changes)

    def distance(self) -> str:
        """How far the rows are from the nearest accepted outcome, in a few words."""
        if self.timeline.length > SHORT:
            return ""
        told = distances_of(self.trial, self.timeline.effects(self.position))
        if not told:
            return ""
        nearest = {"yes": "outcome reached", "no": f"findings {told[0].findings}", "could not check": "not known"}
        return nearest[told[0].equal]

    def put(self, name: str, text: Text) -> None:
        """Show a text in a panel."""
        self.query_one(f"#{name}", Static).update(text)

    def tell(self, text: str) -> None:
        """Show a line at the foot."""
        self.put("foot", Text(cut(text, 400)))

    def action_step(self, by: int) -> None:
        """Some records on or back."""
        end = self.timeline.length
        self.move(min(max(self.position + by, min(self.position, 1)), end), "")

    def action_go(self, position: int) -> None:
        """To the first record, or with -1 to the last."""
        self.move(position if position > 0 else self.timeline.length, "")

    def action_next_change(self) -> None:
        """To the next event."""
        self.move(self.timeline.next_change(self.position), "no change after this one; N goes back")

    def action_previous_change(self) -> None:
        """To the event before."""
        self.move(self.timeline.previous_change(self.position), "no change before this one; n goes on")

    def action_next_refusal(self) -> None:
        """To the next refused call."""
        self.move(self.timeline.next_refusal(self.position), "no call after this one was refused")

    def action_next_finding(self) -> None:
        """To the next event that a finding points at; after the last to the first."""
        places = sorted({finding.position for finding in self.head.findings if finding.position})
        target = next(iter([place for place in places if place > self.position] or places), None)
        told = [f"{one.kind}: {line(one)}" for one in self.head.findings if one.position == (target or 0)]
        self.move(target, f"no event is to blame; {told[0] if told else 'no findings'}", "; ".join(told))

    def action_field(self, by: int) -> None:
        """Select another changed field."""
        if self.fields:
            self.selected = (self.selected + by) % len(self.fields)
            self.draw()

    def action_blame(self) -> None:
        """Show where the selected field's value comes from."""
        if not self.fields:
            self.tell("nothing changed here; n goes to the next change")
            return
        field = self.fields[self.selected]
        call = self.timeline.call_at(self.position)
        is_event = kind_of(self.timeline.record(self.position)) == EVENT
        upto = self.position if call is None or is_event else call.answer_position or self.timeline.length
        told = blamed(self.trial, (field.table, field.key, field.name), upto)
        self.push_screen(Sheet(blamed_lines(told)))

    def action_effects(self) -> None:
        """Show the effects so far, and how far they are from what was required."""
        effects = self.timeline.effects(self.position)
        lines = [f"effects after record {self.position}: {len(effects)}"]
        lines += [f"  {text}" for effect in effects[:MOST_LINES] for text in effect_lines(effect)]
        self.push_screen(Sheet([*distance_lines(distances_of(self.trial, effects)), *lines]))

    def action_help(self) -> None:
        """Show what the keys do."""
        self.push_screen(Sheet([*KEYS.splitlines(), "", *head_lines(self.head)]))

    def action_ask(self, sign: str) -> None:
        """Ask for a position or a text."""
        prompt = self.query_one(Input)
        wanted = f"position, 0 to {self.timeline.length}" if sign == ":" else "text, whatever its case"
        self.tell(f"{sign} {wanted}; Enter goes there, Esc leaves")
        self.asking = sign
        prompt.value = ""
        prompt.display = True
        prompt.focus()

    def action_leave(self) -> None:
        """Close the prompt."""
        self.query_one(Input).display = False
        self.set_focus(None)
        self.tell(HINT)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what was asked."""
        self.action_leave()
        given = event.value.strip()
        if self.asking == ":":
            self.jump(given)
        else:
            self.wanted = given or self.wanted
            if self.wanted:
                self.move(self.timeline.found(self.wanted, self.position), f"nothing holds {self.wanted!r}")

    def jump(self, given: str) -> None:
        """Go to a position that was typed."""
        end = self.timeline.length
        is_there = given.isascii() and given.isdigit() and int(given[:12]) <= end
        self.move(int(given[:12]) if is_there else None, f"no position {given!r}; there are 0 (the start) to {end}")
