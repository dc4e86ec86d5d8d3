"""One event per file: what injects it and what heals it."""

from __future__ import annotations

from collections.abc import Mapping

from harness.faults.append_stall import StallByByteman
from harness.faults.append_watch import WatchAppends
from harness.faults.broker_away import KillBrokerAndRestart
from harness.faults.broker_crash import CrashBroker
from harness.faults.broker_restart import KillOwnersRestartBrokerBySignal, RestartBrokerBySignal
from harness.faults.commit_stall import StallCommitByByteman
from harness.faults.dirty_pages import DirtyByNeighbour
from harness.faults.disk_full import FillByBalloon
from harness.faults.frame_limit import FloodByHeartbeats
from harness.faults.network_cut import CutByFirewall
from harness.faults.network_delay import DelayByNetem
from harness.faults.node_pause import PauseByBackend
from harness.faults.none import NothingHappens
from harness.faults.owners import KillOwnersBySignal, ShutDownOwnersByCall
from harness.faults.owners_cut import CutOffOwnersByFirewall
from harness.faults.owners_pause import PauseOwnersBySignal, SilenceOwnersBySignal
from harness.faults.page_cache_neighbour import FloodPageCache, FloodPageCacheUnderLimit
from harness.faults.page_cache_stall import StallPageCacheByFreeze
from harness.faults.server_views import (
    ForgetTopicByRequest,
    MoreQueuesByRequest,
    RestartServerBySignal,
    UnhearBrokerByRequest,
)
from harness.faults.store_freeze import StallByFreeze
from harness.faults.topic_moments import TryMoments
from harness.faults.topic_resize import ResizeByAdmin
from harness.faults.write_throttle import ThrottleByCgroup
from harness.host.abilities import Abilities
from harness.model.faults import (
    AppendStall,
    AppendWatch,
    BrokerAway,
    BrokerCrash,
    CommitStall,
    CrossFrameLimit,
    CutOffOwners,
    DirtyPages,
    DiskFull,
    Fault,
    ForgottenTopic,
    KillOwners,
    KillOwnersRestartBroker,
    LimitedPageCache,
    MoreQueues,
    NetworkCut,
    NetworkDelay,
    NoFault,
    PageCacheNeighbour,
    PauseNode,
    PauseOwners,
    ResizeTopic,
    RestartBroker,
    RestartNameServer,
    ShutDownOwners,
    SilenceOwners,
    StoreFreeze,
    ThrottledWrites,
    TopicMoments,
    UnheardBroker,
)
from harness.model.scenario import Scenario
from harness.trial import Injection

INJECTIONS: Mapping[type[Fault], tuple[Injection, ...]] = {
    NoFault: (NothingHappens(),),
    CrossFrameLimit: (FloodByHeartbeats(),),
    TopicMoments: (TryMoments(),),
    RestartNameServer: (RestartServerBySignal(),),
    ForgottenTopic: (ForgetTopicByRequest(),),
    UnheardBroker: (UnhearBrokerByRequest(),),
    MoreQueues: (MoreQueuesByRequest(),),
    KillOwners: (KillOwnersBySignal(),),
    ShutDownOwners: (ShutDownOwnersByCall(),),
    PauseOwners: (PauseOwnersBySignal(),),
    SilenceOwners: (SilenceOwnersBySignal(),),
    CutOffOwners: (CutOffOwnersByFirewall(),),
    BrokerAway: (KillBrokerAndRestart(),),
    RestartBroker: (RestartBrokerBySignal(),),
    KillOwnersRestartBroker: (KillOwnersRestartBrokerBySignal(),),
    ResizeTopic: (ResizeByAdmin(),),
    AppendStall: (StallByByteman(), StallByFreeze()),
    NetworkCut: (CutByFirewall(),),
    NetworkDelay: (DelayByNetem(),),
    PauseNode: (PauseByBackend(),),
    DiskFull: (FillByBalloon(),),
    ThrottledWrites: (ThrottleByCgroup(),),
    DirtyPages: (DirtyByNeighbour(),),
    AppendWatch: (WatchAppends(),),
    CommitStall: (StallCommitByByteman(),),
    StoreFreeze: (StallPageCacheByFreeze(),),
    PageCacheNeighbour: (FloodPageCache(),),
    LimitedPageCache: (FloodPageCacheUnderLimit(),),
    BrokerCrash: (CrashBroker(),),
}
"""Who makes each fault happen; the first way is the one that is taken when none is asked for."""

DEFAULT_WAY = "byteman"
"""Taken where nothing is said; ids do not name it."""


def injection_of(fault: Fault, way: str = "") -> Injection:
    """Who makes the fault in the way that is asked for; in its first one where it has no such way."""
    ways = INJECTIONS[type(fault)]
    return next((injection for injection in ways if injection.way == way), ways[0])


def obstacle(fault: Fault, host: Abilities) -> str | None:
    """Why the fault can be made in none of its ways on this host; None when it can in one."""
    reasons = [injection.can(host) for injection in INJECTIONS[type(fault)]]
    return None if None in reasons else reasons[0]


def injections_of(scenario: Scenario) -> Mapping[str, Injection]:
    """The ways between which a run of the scenario can choose; empty where each of its faults has one way only."""
    return {
        injection.way: injection
        for arm in scenario.arms
        for injection in INJECTIONS[type(arm.fault)]
        if len(INJECTIONS[type(arm.fault)]) > 1 and len(scenario.ways) != 1
    }
