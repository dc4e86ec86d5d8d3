"""Kept logs of real incidents, lines made by hand in RocketMQ's words, and what a diagnosis finds in them."""

from __future__ import annotations

from pathlib import Path

from analysis.diagnosis.diagnosis import Diagnosis, diagnose
from analysis.diagnosis.found import Found
from mqlab.kept_logs import stock_folders
from scenarios.signs import SIGNS, SILENT

FOLDERS = stock_folders()
LOCKS = [name for name in FOLDERS if name.startswith("ordered-lock")]

NAMESRV = (
    "2026-11-21 16:46:01 ERROR NettyServerCodecThread_2 - decode exception, 10.0.0.9:40112\n"
    "io.netty.handler.codec.TooLongFrameException: Adjusted frame length exceeds 16777216: {size} - discarded\n"
    "\tat io.netty.handler.codec.LengthFieldBasedFrameDecoder.fail(LengthFieldBasedFrameDecoder.java:522)\n"
)
FAILED = (
    "2026-11-21 16:46:01 WARN brokerOutApi_thread_1 - registerBroker Exception, 10.0.0.1:9876\n"
    "org.apache.rocketmq.remoting.exception.RemotingSendRequestException: send request to <10.0.0.1:9876> failed\n"
)
MADE = (
    "2026-11-21 16:40:01 INFO HeartbeatThread_1 - create new topic TopicConfig [topicName={topic}, readQueueNums={read}, "
    "writeQueueNums={write}, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]\n"
)
SLOW = "[NOTIFYME]putMessage in lock cost time(ms)={ms}, bodyLength=1 AppendMessageResult=AppendMessageResult{{status=PUT_OK}}\n"
REFUSED = (
    "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control "
    "for a while, period in queue: 206ms, size of queue: 876 BROKER: 10.0.0.9:10911\n"
)


def read(*paths: Path, offset_s: float | None = None) -> Diagnosis:
    return diagnose(paths, SIGNS, SILENT, (), offset_s=offset_s)


def found_in(*paths: Path, offset_s: float | None = None) -> list[Found]:
    return [one.found for one in read(*paths, offset_s=offset_s).incidents]
