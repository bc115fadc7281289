"""What is kept of each run for the owner: written in the background, read by commands and the console."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .bundle import MAX_BUNDLE_BYTES, BundleRefused, RunBundle, bundle_bytes, bundle_of, read_bundle
    from .details import (
        CallDetails,
        Entry,
        ErrorDetails,
        FetchDetails,
        ForgottenRun,
        LogDetails,
        RecordingRef,
        RunDetails,
        as_json,
        run_id,
    )
    from .ended_run import ended_of
    from .making import Host, details_of
    from .missing import missing_of
    from .observed_run import ObservedRun
    from .program_files import OpenProgram, OpenProgramFile, RunNow, open_programs
    from .reader import EVERY_RUN, AmbiguousRun, RecordingChanged, RunFilter, RunPage, RunReader, standing
    from .recording import RecordedCall, RecordedExchange, RecordedTool, RunRecording, recording_of
    from .run_files import RunFiles
    from .writer import RunWriter
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "bundle": "BundleRefused MAX_BUNDLE_BYTES RunBundle bundle_bytes bundle_of read_bundle",
            "details": (
                "CallDetails Entry ErrorDetails FetchDetails ForgottenRun LogDetails RecordingRef RunDetails as_json "
                "run_id"
            ),
            "ended_run": "ended_of",
            "making": "Host details_of",
            "missing": "missing_of",
            "observed_run": "ObservedRun",
            "program_files": "OpenProgram OpenProgramFile RunNow open_programs",
            "reader": "AmbiguousRun EVERY_RUN RecordingChanged RunFilter RunPage RunReader standing",
            "recording": "RecordedCall RecordedExchange RecordedTool RunRecording recording_of",
            "run_files": "RunFiles",
            "writer": "RunWriter",
        },
    )
