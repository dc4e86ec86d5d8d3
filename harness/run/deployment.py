"""One cluster that is up, and the trials that it holds, from its boot to its end."""

import dataclasses
import itertools
import secrets
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from harness.backends.cluster import Cluster, ClusterSpec, Node, change_live, is_elected, masters
from harness.errors import DiskFullError, Interrupted, LabError, NodeStartError
from harness.faults.injections import injection_of
from harness.host.hiccups import NoiseProbe
from harness.leases import proc
from harness.load.sessions import session_of
from harness.model.cluster import UserSettings
from harness.model.experiment import experiment_hash
from harness.model.scenario import Arm
from harness.plan.core_budget import CoreBudget
from harness.plan.deployments import PlannedDeployment, PlannedTrial
from harness.releases.border import admitted
from harness.releases.guard import refusals
from harness.releases.jars import jars_sha256
from harness.releases.node_logging import LAB_ZONE, STOCK_ZONE
from harness.run.context import RunContext
from harness.run.costs import TrialCosts
from harness.run.trial_phases import run_phases
from harness.rundir.manifest import DeploymentRecord, NodeRecord, TrialRecord, TrialStatus
from harness.rundir.writing import RunWriter
from harness.trial import SharedClients, TrialContext

NOISY_REPEATS_MAX = 2


def boot(context: RunContext, probe: NoiseProbe, planned: PlannedDeployment) -> "Deployment | None":
    """The deployment with its cluster up; None when it did not come up, which its trials' records then say."""
    observer = context.observer
    name = _unused_name(context.run, planned.id)
    observer.phase(name, "boot")
    record = _deployment_record(name, planned, context)
    directory = context.run.make_deployment(record)
    try:
        with context.boots:
            started = time.monotonic()
            spec = ClusterSpec(
                name=name,
                release=planned.release,
                topology=planned.topology,
                settings=planned.settings,
                user=context.user,
                can_stall=planned.can_stall,
                own_rules=planned.own_rules,
            )
            cluster = context.start_cluster(spec, directory.path, context.until_s)
            boot_s = time.monotonic() - started
    except (Interrupted, DiskFullError):
        raise
    except LabError as error:
        observer.say(f"{name} did not come up: {error}")
        directory.seal(record)
        for trial in planned.trials:
            failed = _trial_record(context, planned, trial, name)
            context.run.make_trial(dataclasses.replace(failed, status="failed", error=str(error)))
            observer.ended(trial.id, "failed", str(error))
        return None
    directory.write(_with_nodes(record, cluster))
    observer.phase(name, "ready")
    left_out = {key: why for key, why in admitted(context.user).changes.items() if key.startswith("client.")}
    return Deployment(
        context=context, probe=probe, planned=planned, name=name, cluster=cluster, boot_s=boot_s, client_overrides=left_out
    )  # fmt: skip


def _unused_name(run: RunWriter, name: str) -> str:
    """A resumed run boots a deployment again; its folder must not mix with the earlier one's."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(candidate for candidate in names if not run.deployment(candidate).path.exists())


def _deployment_record(name: str, planned: PlannedDeployment, context: RunContext) -> DeploymentRecord:
    settings, user = planned.settings, context.user
    return DeploymentRecord(
        run=context.run.manifest.run,
        deployment=name,
        incident=planned.scenario.name,
        release=planned.release,
        index=planned.index,
        topology=dataclasses.asdict(planned.topology),
        logging=settings.logging,
        log_zone=STOCK_ZONE if settings.logging == "stock" else LAB_ZONE,
        settings={
            "conf": dict(settings.conf),
            "properties": dict(settings.properties),
            "environment": dict(settings.environment),
            "user_conf": dict(user.broker),
            "user_properties": dict(user.broker_jvm),
            "user_client": dict(user.client),
        },
        store=settings.store,
        jvm=settings.jvm,
        timer_slack_ms=settings.timer_slack_ms,
    )


def _with_nodes(record: DeploymentRecord, cluster: Cluster) -> DeploymentRecord:
    def node_record(node: Node) -> NodeRecord:
        role = "" if node.kind == "namesrv" or is_elected(node) else "MASTER" if node.broker_id == 0 else "SLAVE"
        assert node.kind != "proxy"
        return NodeRecord(
            name=node.name, kind=node.kind, role=role, address=node.address, pid=cluster.pid(node.name), release=node.release
        )  # fmt: skip

    overrides = tuple(f"{key}: {change}" for key, change in cluster.overrides.items())
    nodes = tuple(node_record(node) for node in cluster.nodes if node.kind != "proxy")
    return dataclasses.replace(record, nodes=nodes, overrides=overrides, identity=_identity_of(nodes))


def _identity_of(nodes: Sequence[NodeRecord]) -> Mapping[str, str]:
    """What tells the deployment from every other one, and from a copy of itself under another name."""
    processes = {node.name: proc.identify(node.pid) for node in nodes if node.pid is not None}
    began = {name: f"process {one.pid}, tick {one.start_ticks}" for name, one in processes.items() if one is not None}
    return {"token": secrets.token_hex(16), "boot": proc.boot_id(), **began}


def _trial_record(context: RunContext, planned: PlannedDeployment, trial: PlannedTrial, deployment: str) -> TrialRecord:
    client_release = context.client_releases.get(planned.release, planned.release)
    load = trial.arm.load
    cell = f"-c{trial.arm.cells.index(trial.params)}" if len(trial.arm.cells) > 1 else ""
    topic, groups = load.names(planned.scenario.name, f"{trial.arm.name}{cell}-r{trial.repetition}")
    client, injection = load.client_of(client_release), injection_of(trial.arm.fault, planned.injection).name
    return TrialRecord(
        trial=trial.id,
        run=context.run.manifest.run,
        incident=planned.scenario.name,
        arm=trial.arm.name,
        params=dict(trial.params),
        release=planned.release,
        client=client,
        backend=context.backend,
        injection=injection,
        chosen_injection=planned.injection,
        deployment=deployment,
        repetition=trial.repetition,
        seed=trial.seed,
        topic=topic,
        groups=groups,
        live_conf=trial.arm.live_conf_under(admitted(context.user).settings.broker),
        faults=tuple(step.words for step in trial.arm.steps),
        experiment=experiment_hash(
            planned.scenario, trial.arm, trial.params, release=planned.release, jars=jars_sha256(planned.release),
            client=client, backend=context.backend, injection=injection, chosen_injection=planned.injection,
        ),
    )  # fmt: skip


def _with_arms_own(user: UserSettings, arm: Arm) -> UserSettings:
    return dataclasses.replace(user, client={**user.client, **arm.client})


@dataclass(kw_only=True)
class Deployment:
    """A cluster that is up, with what its trials share."""

    context: RunContext
    probe: NoiseProbe
    planned: PlannedDeployment
    name: str
    cluster: Cluster
    shared: SharedClients = field(default_factory=SharedClients)
    live_now: Mapping[str, str] = field(default_factory=dict)
    client_overrides: dict[str, str] = field(default_factory=dict)
    """What of the user's settings of clients is not let into the lab, or is another in the load, by ``--set``'s key."""
    is_up: bool = True
    boot_s: float = 0.0
    refused: tuple[str, ...] = ()
    """``NODE: WHAT ADDRESS:PORT`` of what nodes wanted outside of the cluster, as its nodes have told it by now."""
    dead: str = ""
    """Why no trial can run in it any more; empty while they can."""

    def run_trials(self, budget: CoreBudget) -> None:
        """Run all of them, one after another or side by side (as there are cores) as the scenario wants; end the cluster."""
        try:
            if self.planned.scenario.exclusive:
                for trial in self.planned.trials:
                    self.run_until_quiet(trial)
            else:
                with ThreadPoolExecutor(len(self.planned.trials), thread_name_prefix="trial") as pool:
                    started = [pool.submit(self._run_within, budget, trial) for trial in self.planned.trials]
                for one in started:
                    one.result()
        finally:
            self.close()

    def _run_within(self, budget: CoreBudget, trial: PlannedTrial) -> None:
        # Those that begin together do so: what starts would disturb what is measured beside it.
        with budget.taken(self.planned.cores_of(trial), after_rest=not self.planned.needs.no_boots_meanwhile):
            self.run(trial)

    def run_until_quiet(self, trial: PlannedTrial) -> None:
        """Run a trial, and again (within a bound) when the machine was too noisy during it."""
        trial_id = trial.id
        for attempt in range(1, NOISY_REPEATS_MAX + 2):
            worst = self.run(trial, trial_id, attempt)
            limit = self.planned.scenario.hiccup_limit_ms(trial.arm, trial.params)
            if worst is None or worst <= limit or attempt > NOISY_REPEATS_MAX:
                return
            repetition = f"{trial.id}.a{attempt + 1}"
            directory = self.context.run.trial(trial_id)
            directory.write(dataclasses.replace(directory.read(), superseded_by=repetition))
            self.context.observer.repeats(trial_id, f"a hiccup of {worst:.0f} ms")
            trial_id = repetition

    def run(self, trial: PlannedTrial, repetition_id: str = "", attempt: int = 1) -> float | None:
        """One trial; returns the worst hiccup in milliseconds, or None when it failed."""
        context = self.context
        trial_id = repetition_id or trial.id
        record = dataclasses.replace(
            _trial_record(context, self.planned, trial, self.name), trial=trial_id, attempt=attempt, status="running"
        )
        directory = context.run.make_trial(record)
        if self.dead:
            directory.seal(dataclasses.replace(record, status="failed", error=self.dead))
            context.observer.ended(trial_id, "failed", self.dead)
            return None
        status: TrialStatus = "failed"
        note = ""
        worst: float | None = None
        at_once = 1 if self.planned.scenario.exclusive else len(self.planned.trials)
        costs = TrialCosts(self.cluster, self.shared, boot_s=self.boot_s, at_once=at_once)
        took: Mapping[str, float] = {}
        try:
            with directory.recording() as events:
                ready = TrialContext(
                    record=record,
                    arm=trial.arm,
                    phases=self.planned.scenario.phases_of(trial.arm),
                    cluster=self.cluster,
                    directory=directory,
                    events=events,
                    leases=context.leases,
                    java=context.java,
                    until_s=context.until_s,
                    cancel=context.cancel,
                    early_end=context.early_end,
                    boots=context.client_boots,
                    starts=context.client_starts,
                    on_rate=lambda per_s: context.observer.rate(trial_id, per_s),
                    shared=self.shared,
                    user=_with_arms_own(admitted(context.user).settings, trial.arm),
                    say=context.observer.say,
                    note=self._note,
                    meter=lambda: costs.read(ready),
                    client_overrides=self.client_overrides,
                )
                self._set_live(record.live_conf)
                worst = run_phases(
                    ready,
                    injection_of(trial.arm.fault, self.planned.injection),
                    lambda: session_of(ready),
                    observer=context.observer,
                    probe=self.probe,
                    costs=costs,
                    at_moment=context.at_moment,
                    quiet=context.quiet,
                )
            status, took = "complete", costs.took()
        except (Interrupted, KeyboardInterrupt):
            status, note = "interrupted", str(context.full[0]) if context.full else "stopped by the user"
            raise
        except DiskFullError as error:
            note = str(error)
            raise
        except LabError as error:
            note = str(error)
            self._look_for_dead_nodes()
        except Exception as error:  # a defect of ours spoils this trial, not the run; its traceback is kept with it
            note = f"{type(error).__name__}: {error}"
            (directory.path / "traceback.txt").write_text(traceback.format_exc())
        finally:
            if trial.arm.steps or trial.arm.fault.kills_broker:
                # What the broker was told while it ran is gone with it.
                self.live_now = {}
            self._tell_refused(trial_id)
            directory.seal(dataclasses.replace(record, status=status, error=note, took=took))
            context.observer.ended(trial_id, status, note)
        return worst

    def _note(self, text: str) -> None:
        self.context.observer.say(text)
        self.context.run.add_note(text)

    def _tell_refused(self, trial_id: str) -> None:
        homes = {node.name: self.cluster.folder / "nodes" / node.name for node in self.cluster.nodes}
        found = tuple(f"{name}: {one}" for name, home in homes.items() for one in refusals(home))
        for one in [one for one in found if one not in self.refused]:
            self._note(f"{trial_id}: outside of the cluster, and refused: {one}")
        self.refused = found

    def _look_for_dead_nodes(self) -> None:
        """A node that is gone ends its deployment, whose other trials would only wait for it; the run goes on."""
        try:
            self.cluster.check_running()
            gone = [node.name for node in self.cluster.nodes if self.cluster.pid(node.name) is None]
            # Beside other trials it may be one of theirs that has a node down on purpose.
            gone = gone if self.planned.scenario.exclusive else []
            reason = f"{', '.join(gone)} was not started again" if gone else ""
        except NodeStartError as error:
            reason = str(error)
        if reason and not self.dead:
            self.dead = f"its deployment ended before: {reason}"
            self.context.observer.say(f"{self.name} cannot go on: {reason}")

    def _set_live(self, settings: Mapping[str, str]) -> None:
        if settings and settings != self.live_now:
            for master in masters(self.cluster):
                change_live(master, settings)
            self.live_now = settings

    def close(self) -> None:
        """End what its trials shared, and the cluster; once."""
        if not self.is_up:
            return
        self.is_up = False
        self.shared.stop()
        self.cluster.down()
        directory = self.context.run.deployment(self.name)
        record = directory.read()
        changed = tuple(f"{key}: {change}" for key, change in self.client_overrides.items())
        directory.seal(dataclasses.replace(record, overrides=(*record.overrides, *changed), refused=self.refused))
        self.context.observer.ended(self.name, "down", "")
