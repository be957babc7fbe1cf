"""
A parcel desk whose event has a second version.

`recorded/parcels-first-version.jsonl` was recorded when everything went by post: `parcel-sent` named no carrier then.
"""

from typing import Any, Literal

from msgspec.structs import replace

from judges.expectation import Accepted, Expectation, GoldenCall, Never
from sandbox import Call, Domain, Event, Precondition, Row, Rows, Toolset
from sandbox.task import Task

parcels = Toolset("parcels")


@parcels.table("parcels", ids="PCL")
class Parcel(Row):
    id: str
    to: str
    status: Literal["packed", "sent"] = "packed"
    carrier: str = ""


class ParcelSent(Event, tag="parcel-sent", version=2):
    id: str
    carrier: str


@parcels.upcast("parcel-sent", 1)
def named_carrier(sent: dict[str, Any]) -> dict[str, Any]:
    return {**sent, "carrier": "post"}


@parcels.on(ParcelSent)
def sent(rows: Rows, e: ParcelSent) -> Parcel:
    return replace(rows.get(Parcel, e.id), status="sent", carrier=e.carrier)


@parcels.tool(emits=[ParcelSent])
def send(call: Call, id: str, carrier: str = "post") -> Parcel:
    """Send a parcel that is packed."""
    if call.get(Parcel, id).status == "sent":
        raise Precondition(f"parcel {id} is on its way already")
    call.emit(ParcelSent(id, carrier))
    return call.get(Parcel, id)


@parcels.tool()
def show(call: Call, id: str) -> Parcel:
    """Show a parcel."""
    return call.get(Parcel, id)


SEED = {"parcels_parcels": [{"id": "PCL-1", "to": "Elm Street 2"}, {"id": "PCL-2", "to": "Oak Road 9"}]}
domain = Domain("parcels", parcels, seed=SEED)

TASK = Task("send-two", "parcels", "2024-02-01T08:00:00Z", "Please send both parcels.")
CALLS = tuple(GoldenCall("parcels_send", {"id": id}) for id in ("PCL-1", "PCL-2"))
EXPECTATION = Expectation((Accepted("both sent", CALLS),), (Never("parcel-sent", {"carrier": "pigeon"}),))
