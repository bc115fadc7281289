"""Jobs: runs that go on after their turn, each with a handle, and a record that outlives the process."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .job_records import JobRecord, JobRecords
    from .jobs import JOB_ENDED, Jobs
    from .left_behind import settle_left
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "job_records": "JobRecord JobRecords",
            "jobs": "JOB_ENDED Jobs",
            "left_behind": "settle_left",
        },
    )
