"""Installation jobs: looked up, moved to another day, cancelled."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from domains.retail.shop import RetailQuirks, answer, shop, shown
from sandbox import Call, Event, Instant, NotFound, Precondition, Row, Rows

JobStatus = Literal["scheduled", "in_progress", "completed", "cancelled", "issue_reported"]


@shop.table("installation_jobs")
class Job(Row):
    id: str
    order_id: str
    customer_id: str
    service_type: Literal["appliance_basic", "appliance_advanced", "tv_mounting"]
    scheduled_date: Instant
    service_cost: float
    technician_id: str | None = None
    status: JobStatus = "scheduled"
    completion_date: Instant | None = None
    workmanship_warranty_end: Instant | None = None


class InstallationCancelled(Event, tag="installation-cancelled", version=1):
    job_id: str
    order_id: str
    reason: str


class InstallationRescheduled(Event, tag="installation-rescheduled", version=1):
    job_id: str
    scheduled_date: Instant
    status: JobStatus
    reason: str


@shop.on(InstallationCancelled)
def called_off(rows: Rows, e: InstallationCancelled) -> Job:
    return replace(rows.get(Job, e.job_id), status="cancelled")


@shop.on(InstallationRescheduled)
def rescheduled(rows: Rows, e: InstallationRescheduled) -> Job:
    return replace(rows.get(Job, e.job_id), scheduled_date=e.scheduled_date, status=e.status)


class Installation(Struct, frozen=True, omit_defaults=True):
    job_id: str
    order_id: str
    customer_id: str
    service_type: str
    scheduled_date: Instant
    status: str
    service_cost: float
    technician_id: str | None = None
    completion_date: Instant | None = None


class CancelledInstallation(Struct, frozen=True):
    job_id: str
    status: str
    service_cost_refunded: float


class RescheduledInstallation(Struct, frozen=True):
    job_id: str
    old_scheduled_date: Instant
    new_scheduled_date: Instant
    status: str


@shop.tool(emits=[InstallationCancelled])
def cancel_installation(
    call: Call,
    job_id: str,
    order_id: str,
    cancellation_reason: Literal[
        "customer_wants_ship_only", "customer_cancelled_order", "product_incompatible", "address_inaccessible"
    ],
) -> CancelledInstallation:
    """
    Cancel an installation job, whatever its status: whether it may still be cancelled is for you to judge.

    Only the job's status changes. The order stays as it is, and no refund is made; both are calls of their own.

    Args:
        job_id: the job.
        order_id: the order that it belongs to.
        cancellation_reason: why it is cancelled.

    Returns:
        job_id, status (`cancelled`) and service_cost_refunded: what the service cost, in dollars.
    """
    job = call.get(Job, job_id)
    if order_id != job.order_id and not call.quirks(RetailQuirks).unkept_ids_unchecked:
        raise Precondition(f"job {job_id!r} is not of order {order_id!r}; look it up with get_installation_job")
    call.emit(InstallationCancelled(job_id, order_id, cancellation_reason))
    return CancelledInstallation(job_id, "cancelled", job.service_cost)


@shop.tool()
def get_installation_job(call: Call, job_id: str | None = None, order_id: str | None = None) -> Installation:
    """
    Show an installation job, by its own id or by its order's.

    Args:
        job_id: the job; if it is given, order_id is not looked at.
        order_id: the order whose first job is shown.

    Returns:
        job_id, order_id, customer_id, service_type, scheduled_date, technician_id if one is assigned, status,
        completion_date once completed, and service_cost in dollars.
    """
    if job_id:
        job: Job | None = call.get(Job, job_id)
    elif order_id:
        job = call.first(Job, order_id=order_id)
    else:
        raise Precondition("no job is named; give a job_id or an order_id")
    if job is None:
        raise NotFound(f"no job for order {order_id!r}")
    return answer(call, Installation, job, job_id=job.id)


@shop.tool(emits=[InstallationRescheduled])
def reschedule_installation(
    call: Call,
    job_id: str,
    new_scheduled_date: Instant,
    reschedule_reason: Literal["customer_request", "workmanship_issue", "technician_unavailable", "weather_delay"],
) -> RescheduledInstallation:
    """
    Move an installation job to another time, whatever its status.

    A completed job that is moved because of a workmanship issue is scheduled again; otherwise its status stays.

    Args:
        job_id: the job.
        new_scheduled_date: when the technician comes, in ISO 8601, such as 2025-10-04T09:00:00Z.
        reschedule_reason: why it is moved.

    Returns:
        job_id, old_scheduled_date, new_scheduled_date and status.
    """
    job = call.get(Job, job_id)
    redone = reschedule_reason == "workmanship_issue" and job.status == "completed"
    status: JobStatus = "scheduled" if redone else job.status
    call.emit(InstallationRescheduled(job_id, new_scheduled_date, status, reschedule_reason))
    return RescheduledInstallation(job_id, shown(call, job.scheduled_date), shown(call, new_scheduled_date), status)
