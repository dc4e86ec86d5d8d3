"""What of this process's environment no process of the lab gets: variables that lead it out of the lab.

Java reads options from some of them, of which those of ``_JAVA_OPTIONS`` win over a command line's; RocketMQ and its libraries read
addresses and folders from others; and gRPC goes by a proxy to loopback, too. A shell has them for what else runs on its machine.
Standard library only.
"""

import re
from collections.abc import Mapping

_LEAD_OUT = re.compile(
    r"_JAVA_OPTIONS|(JDK_JAVA|JAVA_TOOL)_OPTIONS|CLASSPATH"
    r"|NAMESRV_ADDR|(ROCKETMQ|ROCKSDB|OTEL|GRPC|PROMETHEUS)_\w+"
    r"|(?i:(http|https|grpc|all)_proxy)",
    re.ASCII,
)


def without_what_leads_out(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment as a process of the lab has it."""
    return {name: value for name, value in environment.items() if not _LEAD_OUT.fullmatch(name)}
