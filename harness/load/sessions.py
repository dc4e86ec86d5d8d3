"""Which session carries each load out."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.load.avoiding import AvoidingSession
from harness.load.delayed import DelayedSession
from harness.load.failing import FailingSession
from harness.load.group_members import GroupMembersSession
from harness.load.keyed import KeyedSession
from harness.load.late_group import LateGroupSession
from harness.load.open_loop import OpenLoopSession
from harness.load.ordered import OrderedSession
from harness.load.own import OwnLoad, OwnLoadSession
from harness.load.python_sends import PythonSendKindsSession
from harness.load.queue_numbers import QueueNumbersSession
from harness.load.returning_group import ReturningGroupSession
from harness.load.send_kinds import SendKindsSession
from harness.load.steady import SteadySession
from harness.load.transactions import TransactionsSession
from harness.load.unflushed import UnflushedTailSession
from harness.model.avoiders import AvoidingProducers
from harness.model.group_members import GroupMembers
from harness.model.loads import (
    DelayedMessages,
    FailingMessages,
    KeyedSends,
    LateGroup,
    LoadValue,
    OpenLoopSends,
    OrderedGroups,
    QueueNumbers,
    ReturningGroup,
    SteadyClients,
    Transactions,
)
from harness.model.python_sends import PythonSendKinds
from harness.model.send_kinds import SendKinds
from harness.model.unflushed import UnflushedTail
from harness.trial import LoadSession, TrialContext

SESSIONS: Mapping[type[LoadValue], Callable[[TrialContext, Any], LoadSession]] = {
    OrderedGroups: OrderedSession,
    QueueNumbers: QueueNumbersSession,
    KeyedSends: KeyedSession,
    SendKinds: SendKindsSession,
    PythonSendKinds: PythonSendKindsSession,
    OpenLoopSends: OpenLoopSession,
    SteadyClients: SteadySession,
    FailingMessages: FailingSession,
    AvoidingProducers: AvoidingSession,
    GroupMembers: GroupMembersSession,
    LateGroup: LateGroupSession,
    ReturningGroup: ReturningGroupSession,
    DelayedMessages: DelayedSession,
    Transactions: TransactionsSession,
    UnflushedTail: UnflushedTailSession,
    OwnLoad: OwnLoadSession,
}


def session_of(trial: TrialContext) -> LoadSession:
    """The session of the trial's load."""
    return SESSIONS[trial.arm.load.kind](trial, trial.arm.load)
