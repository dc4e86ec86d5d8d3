"""Where everything lies in a run directory, and what holds for all of its files."""

import secrets
from datetime import UTC, datetime

RUN_SCHEMA = 2
"""Version of the run directory's layout that is written."""

UNSEALED_SCHEMA = 1
"""Of runs that were made before files were sealed: they are read, and nothing vouches for their files."""

RUN_SCHEMAS = (UNSEALED_SCHEMA, RUN_SCHEMA)
"""A reader refuses any other."""

LAYOUT = """\
RUN/
  manifest.json                             what was run
  hiccups.jsonl                             the noise probe's records of the whole run
  .lock                                     held by the process that writes the run
  incidents/<incident>.py                   an incident of the user's own, as it was run
  broker.conf                               the user's own without its secrets, where there is one
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
A `*.json` file is one JSON object with `"schema": {RUN_SCHEMA}` and, at its end, `sum`: the SHA-256 of its other fields as \
compact JSON with sorted keys and all but ASCII escaped. It is replaced as a whole, so that a reader sees the old or the new \
one, and is on the disk before anything is done that rests on it. A reader ignores fields that it does not know, and refuses \
another schema and a document whose bytes are not those that its writer makes of its content (one space of indent, a newline \
at the end).

A `*.jsonl` file has one flat JSON object a line, appended by one process with one write a record. Each record has `type` \
and `n`, its number in its file from 1, which is its line. Its last record has the type `end` and says how many stand before \
it. A killed process leaves no end mark: a kill can damage the last line and nothing else; behind it, a killed Java client \
leaves empty lines, which are no records.

All `*_ns` are nanoseconds of the host's CLOCK_MONOTONIC, all `*_ms` are milliseconds. `anchor` records tie the monotonic \
clock to the wall clock.

## What vouches for a file

A reading starts from the manifest, and trusts nothing that it does not lead to.

1. `manifest.json` names each trial before that begins (`begun`), and when the run ends each document with its SHA-256 \
(`documents`).
2. `trial.json` says that the trial is complete, failed or interrupted only after all of its clients have ended and all of \
its files are on the disk. It names each of them with length and SHA-256 (`files`); of a file of records also whether it has \
its end mark. Until then nothing vouches for them, and the trial does not count.
3. `deployment.json` does the same of its nodes' files, once all nodes have ended (`ended`). A trial whose deployment was \
not closed does not count: its logs may lack lines. `identity` tells two deployments apart, whatever their folders are \
called.

Every file in a trial's or a deployment's folder is evidence but for stores (`store`), the disks that listeners write to \
(`disk`), what libraries unpack (`temporary`) and drafts. What is missing, cut, changed, doubled or foreign is said first, by \
its name, and each claim that asks for such a trial is undecided with the reason *evidence damaged*, unless a \
counterexample in undamaged files refutes it. \
Files and folders that nothing names are left out. `--resume` runs again what is not whole.

Runs of schema {UNSEALED_SCHEMA} were made before files were sealed. They are read, their files of records are asked whether \
numbers lack or come twice, and what is said of them begins with the sentence that nothing vouches for their files.
"""


def new_run_id() -> str:
    """Sorts by time: 20261121T081500Z-ab12."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
