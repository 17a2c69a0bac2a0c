"""Placeholders in the commands of adapters, such as `{server_address}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

#: Placeholders that are filled when the program is started.
LATE: Final = ("server_address", "client_address", "directory")
#: Placeholders that are filled early, in addition to options and fields of the workload.
EARLY: Final = (
    "python",
    "quiclab_live",
    "adapters",
    "programs",
    "certificate",
    "key",
    "authority",
    "certificate_name",
    "flow",
    "seed",
    "workload",
    "probe",
)
#: Fields of workloads as placeholders.
FIELDS: Final = (
    "size_bytes",
    "duration_s",
    "request_bytes",
    "response_bytes",
    "count",
    "pause_s",
    "interval_s",
    "rate_bps",
    "html_bytes",
    "on_s",
    "off_s",
    "think_time_s",
    "html_think_time_s",
    "issue_time_s",
    "request_time_s",
    "object_time_s",
)
#: `%{...}` and `${...}` belong to the program or the shell.
PLACEHOLDER: Final = re.compile(r"(?<![%$])\{([a-z_][a-z0-9_.]*)\}")


def fill(word: str, values: Mapping[str, str], *, late: bool) -> str | None:
    """Put values into a word; return None if a placeholder has none.

    If `late`, placeholders that are filled at the program's start stay.
    """
    names = PLACEHOLDER.findall(word)
    if any(name not in values and not (late and name in LATE) for name in names):
        return None
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word)
