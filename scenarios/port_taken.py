"""Users: a broker or name server does not start, since its port is taken."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="port-taken",
    title="A node does not start, as another process listens on its port",
    symptom='A broker or a name server ends with "Address already in use" while it starts.',
    advice="`ss -ltnp 'sport = :10911'` shows who listens: an old process that has not ended, or a second broker on "
    "the host. A broker takes listenPort, listenPort - 2 and listenPort + 1 (10911, 10909, 10912), so that two "
    "on a host need ports at least 5 apart; a proxy takes 8080 and 8081.",
    sign=Sign(
        events=(Logged.PORT_TAKEN,),
        because="the system refused a port that another process listens on",
        lines=("java.net.BindException: Address already in use",),
    ),
)
