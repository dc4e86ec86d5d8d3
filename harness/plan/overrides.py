"""What a plan changes of the user's own settings, said before anything starts."""

from harness.backends.nodes import OWN_SETTINGS
from harness.model.cluster import UserSettings
from harness.plan.schedule import Plan
from harness.releases.border import admitted


def override_notes(plan: Plan, user: UserSettings) -> tuple[str, ...]:
    """Keys that each broker has a value of its own of, those that are not let into the lab, and why, and those that an
    incident sets itself, in which of its arms.

    What a load sets on its clients is known when they start; the deployment's record has it.
    """
    own = [f"broker.{key}" for key in OWN_SETTINGS if key in user.broker]
    outside = {key: change for key, change in admitted(user).changes.items() if key not in own}
    given = {key: value for key, value in user.by_prefix().items() if key not in own and key not in outside}
    found: dict[tuple[str, str], set[str]] = {}
    for deployment, trial in plan.trials():
        settings, arm = deployment.settings, trial.arm
        used = {**settings.conf, **arm.live_conf_under(user.broker)}
        values = UserSettings(broker=used, broker_jvm=settings.properties, client=arm.client)
        for key, value in values.by_prefix().items():
            if given.get(key, value) != value:
                found.setdefault((deployment.scenario.name, f"{key}: {given[key]} -> {value}"), set()).add(arm.name)
    return (
        *(f"the lab overrides {key}: {user.by_prefix()[key]} -> each broker's own" for key in own),
        *(f"the lab overrides {key}: {change}" for key, change in outside.items()),
        *(f"{name} overrides {change}, in {', '.join(sorted(arms))}" for (name, change), arms in found.items()),
    )
