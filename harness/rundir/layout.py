"""Where everything lies in a run directory, and what holds for all of its files."""

import secrets
from datetime import UTC, datetime

RUN_SCHEMA = 1
"""Version of the run directory's layout; a reader refuses any other."""

LAYOUT = """\
RUN/
  manifest.json                             what was run
  hiccups.jsonl                             the noise probe's records of the whole run
  .lock                                     held by the process that writes the run
  incidents/<incident>.py                   an incident of the user's own, as it was run
  broker.conf                               the user's own, where there is one
  look/                                     RocketMQ's mqadmin for a run that was held
  deployments/<deployment>/
    deployment.json                         one cluster that was up
    nodes/<node>/                           gc.log, stdout.log and the node's logs/
  trials/<trial>/
    trial.json                              one trial
    events.jsonl                            what the harness did and saw
    history/<process>.jsonl                 what a client process sent and consumed
    clients/<process>/                      a client process's logs
  earlier/<trial>~<n>/                      attempts that a resumed run has replaced
  analysis/                                 what the analysis made of all this
"""

CONVENTIONS = f"""\
A `*.json` file is one JSON object with `"schema": {RUN_SCHEMA}`. It is replaced as a whole, so that a reader sees the old \
or the new one. A reader ignores fields that it does not know and refuses another schema.

A `*.jsonl` file has one flat JSON object a line, appended by one process with one write a record. Each record has `type` \
and `n`, its number in its file from 1, which is its line. A kill can damage the last line and nothing else; behind it, a \
killed Java client leaves empty lines, which are no records.

All `*_ns` are nanoseconds of the host's CLOCK_MONOTONIC, all `*_ms` are milliseconds. `anchor` records tie the monotonic \
clock to the wall clock.
"""


def new_run_id() -> str:
    """Sorts by time: 20261121T081500Z-ab12."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
