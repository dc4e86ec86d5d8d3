"""Logging configurations: the lab's own (milliseconds, UTC, bounded files) and 4.x's stock one.

4.x and 5.0.0 read ``conf/logback_broker.xml`` and the like below their home and do not start without them;
their jars hold none, so the stock one is written here from the facts of the 4.x distribution: logger to file, pattern,
zone GMT+8, seconds. A release with a copy of logback in a package of its own (``Feature.OWN_LOGBACK``) carries its stock
configuration inside its jars and takes ours by a system property.
"""

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from harness.releases.settings import Feature, has

LAB_PATTERN = "%d{ISO8601,UTC} %p [%t] %c - %m%n"
"""``2026-11-21 08:15:00,123 INFO [main] RocketmqBroker - text``; ISO8601 is logback's name for a pattern with a comma,
which a pattern of our own could not hold."""
STOCK_4X_PATTERN = "%d{yyy-MM-dd HH:mm:ss,GMT+8} %p %t - %m%n"
LAB_ZONE = "UTC"
STOCK_ZONE = "GMT+8"

PACKAGE_4X = "ch.qos.logback"
PACKAGE_5X = "org.apache.rocketmq.logging.ch.qos.logback"

BROKER_FILES: Mapping[str, str] = {
    "RocketmqBroker": "broker.log",
    "RocketmqCommon": "broker.log",
    "RocketmqStore": "store.log",
    "RocketmqStoreError": "storeerror.log",
    "RocketmqRebalanceLock": "lock.log",
    "RocketmqWaterMark": "watermark.log",
    "RocketmqRemoting": "remoting.log",
    "RocketmqProtection": "protection.log",
    "RocketmqTransaction": "transaction.log",
    "RocketmqFilter": "filter.log",
    "RocketmqStats": "stats.log",
    "RocketmqCommercial": "commercial.log",
}
"""Logger to file, as 4.x's distribution has it and 5.x mostly has."""

NAMESRV_FILES: Mapping[str, str] = {"RocketmqNamesrv": "namesrv.log", "RocketmqRemoting": "namesrv.log"}


def logback_xml(
    files: Mapping[str, str], *, folder: Path, default: str, pattern: str, package: str, max_file_mb: int = 32
) -> str:
    """A logback configuration that sends each logger to its file in ``folder`` and all others to ``default``."""
    appenders = "".join(
        _appender(name, folder=folder, pattern=pattern, package=package, max_file_mb=max_file_mb)
        for name in sorted({*files.values(), default})
    )
    loggers = "".join(
        f'  <logger name="{escape(logger)}" additivity="false" level="INFO"><appender-ref ref="{file}"/></logger>\n'
        for logger, file in files.items()
    )
    root = f'  <root level="INFO"><appender-ref ref="{default}"/></root>\n'
    return f"<configuration>\n{appenders}{loggers}{root}</configuration>\n"


def _appender(name: str, *, folder: Path, pattern: str, package: str, max_file_mb: int) -> str:
    path = folder / name
    return f"""  <appender name="{name}" class="{package}.core.rolling.RollingFileAppender">
    <file>{escape(str(path))}</file>
    <rollingPolicy class="{package}.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>{escape(str(path))}.%i</fileNamePattern><minIndex>1</minIndex><maxIndex>3</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="{package}.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>{max_file_mb}MB</maxFileSize>
    </triggeringPolicy>
    <encoder><pattern>{escape(pattern)}</pattern><charset>UTF-8</charset></encoder>
  </appender>
"""


def write_node_logging(release: str, *, home: Path, logs: Path, stock: bool) -> tuple[str, ...]:
    """Write the logging configuration of a name server or broker; returns the JVM options that it needs.

    Stock logging goes where the release itself puts it, below the JVM's ``user.home``.
    """
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    if has(release, Feature.OWN_LOGBACK):
        if stock:
            return ()
        files = {**BROKER_FILES, **NAMESRV_FILES}
        text = logback_xml(files, folder=logs, default="default.log", pattern=LAB_PATTERN, package=PACKAGE_5X)
        path = conf / "rmq.lab.logback.xml"
        path.write_text(text)
        return (f"-Drmq.logback.configurationFile={path.as_uri()}",)
    pattern = STOCK_4X_PATTERN if stock else LAB_PATTERN
    folder = home / "logs" / "rocketmqlogs" if stock else logs
    for name, loggers, default in (
        ("logback_broker.xml", BROKER_FILES, "broker_default.log"),
        ("logback_namesrv.xml", NAMESRV_FILES, "namesrv_default.log"),
        ("logback_proxy.xml", {}, "proxy.log"),
    ):
        (conf / name).write_text(
            logback_xml(loggers, folder=folder, default=default, pattern=pattern, package=PACKAGE_4X)
        )
    return ()


def client_logging_options(release: str, folder: Path) -> tuple[str, ...]:
    """JVM options for a client's log. For 5.x a configuration file is written into ``folder``."""
    if not has(release, Feature.OWN_LOGBACK):
        return (
            f"-Drocketmq.client.logRoot={folder}",
            "-Drocketmq.client.logFileMaxIndex=2",
            "-Drocketmq.client.logFileMaxSize=33554432",
        )
    path = folder / "rmq.client.lab.logback.xml"
    path.write_text(
        logback_xml({}, folder=folder, default="rocketmq_client.log", pattern=LAB_PATTERN, package=PACKAGE_5X)
    )
    return (f"-Drmq.logback.configurationFile={path.as_uri()}",)
