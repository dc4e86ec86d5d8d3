"""The one judge of a broker.conf: what a release's broker makes of each key, and why.

``MixAll.properties2Object`` calls the setters of BrokerConfig and its like, those of superclasses too. A setter's name without
``set`` and with a small first letter is a key of the file; an int, a long, a double, a float or a boolean is made of the text by
Java's own ``parse...``. What goes wrong is passed over in silence, and the default stays. ``audit``, ``upgrade``, ``verify`` and
``load`` all ask here.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache

from harness.errors import ConfigurationError, nearest
from harness.language import phrase
from harness.model.broker_conf import ConfFile, Fate, JudgedConf, JudgedKey
from harness.printable import excerpt
from harness.releases.border import told
from harness.releases.properties import comment_in
from harness.releases.settings import BY_PROCESSORS, Settings, releases_with_settings, settings_of

OF_THE_START = frozenset({"rmqAddressServerDomain", "rmqAddressServerSubGroup"})
"""What ``BrokerStartup.properties2SystemEnv`` reads of the file itself."""

TIERED = "TieredMessageStore"
PLUG_IN_KEY = "messageStorePlugIn"

IDENTITY = frozenset({"brokerName", "brokerClusterName", "brokerId", "brokerRole"})
"""A file with one of them is a broker's."""
CONTAINERS = frozenset({"brokerConfigPaths"})
"""org.apache.rocketmq.container.BrokerContainerConfig, which is in no jar that a broker needs."""
COMMON = frozenset({"listenPort", "namesrvAddr", "fetchNamesrvAddrByAddressServer", "rocketmqHome", "bindAddress"})
"""Keys of brokers that other nodes have as well."""

ACL_GONE = phrase("the access control lists of 4.x are gone, and the broker asks nobody who sends a request")
ACL_INSTEAD = phrase(
    "Set, before others can reach the broker: authenticationEnabled=true with "
    "authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider, "
    'initAuthenticationUser={"username":"U","password":"P"}, and '
    'innerClientAuthenticationCredentials={"accessKey":"U","secretKey":"P"} for slaves; then '
    "authorizationEnabled=true with "
    "authorizationMetadataProvider=org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider. "
    "migrateAuthFromV1Enabled=true takes the accounts of plain_acl.yml over. Clients sign as before; try a "
    "request without keys: it has to end with CODE 16.",
)
"""The keys are of AuthConfig, the classes of the jar rocketmq-auth of 5.3.3 and 5.5.0; a started 5.5.0 with the first three refused
what was not signed ("username cannot be null")."""
_BLANKS = "".join(map(chr, range(0x21)))
"""What ``String.trim`` takes away."""

_NUMBER = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_HEXADECIMAL = re.compile(r"([+-]?)(0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII)


# --- values ---------------------------------------------------------------------------------------------------------------


MISTYPED_LIKE = 0.8
"""How alike a key and what was typed have to be: a setting that is only near does something else."""


def _whole(bits: int) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        # Java takes digits of any script, and no blanks.
        if not re.fullmatch(r"[+-]?\d{1,400}", text):
            return None
        value = int(text)
        return str(value) if -(2**bits) <= value < 2**bits else None

    return read


def _floating(text: str) -> float | None:
    text = text.strip(_BLANKS)
    if found := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(found[1] + found[2])
        except OverflowError:
            return -math.inf if found[1] == "-" else math.inf
    return float(re.sub("[fFdD]$", "", text)) if _NUMBER.fullmatch(text) else None


def _double(text: str) -> str | None:
    value = _floating(text)
    return None if value is None else _as_java(value, repr(value))


def _float(text: str) -> str | None:
    value = _floating(text)
    if value is None:
        return None
    try:
        single = _as_single(value)
    except OverflowError:
        single = math.copysign(math.inf, value)
    tried = (f"{single:.{count}g}" for count in range(1, 10))
    return _as_java(single, next((digits for digits in tried if _as_single(float(digits)) == single), repr(single)))


def _as_single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _as_java(value: float, digits: str) -> str:
    """``Double.toString``, from the shortest digits that tell the number."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, ciphers, exponent = Decimal(digits).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, ciphers)).lstrip("0") or "0"
    tens = len(text) + exponent  # the point stands behind so many ciphers
    if value == 0:
        plain = "0.0"
    elif 1e-3 <= abs(value) < 1e7:
        whole, part = (text[:tens].ljust(tens, "0"), text[tens:]) if tens > 0 else ("0", "0" * -tens + text)
        plain = f"{whole}.{part.rstrip('0') or '0'}"
    else:
        plain = f"{text[0]}.{text[1:].rstrip('0') or '0'}E{tens - 1}"
    return f"-{plain}" if sign else plain


def _boolean(text: str) -> str:
    return "true" if text.lower() == "true" else "false"


CONVERSIONS: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    **dict.fromkeys(("int", "Integer"), (phrase("an int"), _whole(31))),
    **dict.fromkeys(("long", "Long"), (phrase("a long"), _whole(63))),
    **dict.fromkeys(("double", "Double"), (phrase("a number"), _double)),
    **dict.fromkeys(("float", "Float"), (phrase("a number"), _float)),
    **dict.fromkeys(("boolean", "Boolean"), (phrase("true or false"), _boolean)),
}
"""By the simple name of a setter's type: what it is called, and what becomes of a text; None where Java refuses it."""


_TIMER_MS = (100, 200, 500, 1000)


def _timer_ms(value: str) -> str:
    return str(max((one for one in _TIMER_MS if one <= int(value)), default=_TIMER_MS[0]))


MENDED: Mapping[str, Callable[[str], str]] = {"timerPrecisionMs": _timer_ms}
"""Setters that take another value than the one that they are given (MessageStoreConfig of 5.x)."""


BOUNDED: Mapping[str, tuple[int, int]] = {
    "diskMaxUsedSpaceRatio": (10, 95),
    "diskSpaceWarningLevelRatio": (35, 90),
    "diskSpaceCleanForciblyRatio": (30, 85),
}
"""Percentages beyond whose bounds a broker goes by the bound: MessageStoreConfig's getter, CleanCommitLogService of 5.x."""


def converted(key: str, text: str, known: Settings) -> str | None:
    """What a broker's setting is after its setters got a text, None where each of them refused it."""
    words = known.words.get(key)
    # Each overload gets it; one that cannot read it leaves what the others did.
    for kind in known.kinds[key].split(" and "):
        if kind == "String":
            value: str | None = text.strip(_BLANKS) if known.trims else text
        else:
            value = CONVERSIONS[kind][1](text)
        if value is not None and words is not None:
            # A number is a word of its own, which the setter of a text does not know.
            value = words.get(value) if value.isdigit() == (kind != "String") else None
        if value is not None:
            return MENDED.get(key, str)(value)
    return None


def kinds_told(kinds: str, words: Mapping[str, str] | None) -> str:
    """What a setting takes, in words."""
    if words is not None:
        return phrase("one of {words}", words=", ".join(word for word in words if not word.isdigit()))
    return " or ".join(
        CONVERSIONS[kind][0] if kind in CONVERSIONS else phrase("a text") for kind in kinds.split(" and ")
    )


# --- keys -----------------------------------------------------------------------------------------------------------------


def judge_file(conf: ConfFile, release: str) -> JudgedConf:
    """Each key of a file on a release.

    Raises ConfigurationError: it is no broker's file, by its keys.
    """
    if whose := whose_file(conf):
        raise whose
    known = settings_of(release)
    has_plug_in = TIERED in conf.settings.get(PLUG_IN_KEY, "")
    judged = (_judged(key, one.text, one.line, known, release, has_plug_in) for key, one in conf.entries.items())
    return JudgedConf(release=release, keys=tuple(judged))


def _judged(key: str, text: str, line: int, known: Settings, release: str, has_plug_in: bool) -> JudgedKey:
    def as_is(fate: Fate, value: str | None, says: str = "", advice: str = "") -> JudgedKey:
        return JudgedKey(key=key, text=text, line=line, fate=fate, value=value, says=says, advice=advice)

    if key in OF_THE_START:
        return as_is(Fate.READ, text)
    if key not in known.kinds:
        return as_is(
            Fate.UNKNOWN, None, phrase("{release} does not know it", release=release), _for_unknown(key, known)
        )
    if key in known.plug_in and not has_plug_in:
        return as_is(
            Fate.UNKNOWN, None, phrase(
                "{release} reads it only with {plug_in_key}=org.apache.rocketmq.tieredstore.{tiered}",
                release=release, plug_in_key=PLUG_IN_KEY, tiered=TIERED,
            ),
            phrase("Remove the line, or turn on tiered storage."),
        )  # fmt: skip
    value, default = converted(key, text, known), _default(key, known)
    if key in known.dead:
        is_open = key == "aclEnable" and value == "true"
        why = ACL_GONE if is_open else phrase("nothing in {release} reads it", release=release)
        advice = ACL_INSTEAD if is_open else phrase("Remove the line.")
        return as_is(
            Fate.DEAD,
            default if value is None else value,
            phrase("{release} takes it and does nothing with it: {why}", release=release, why=why),
            advice,
        )
    shown = told(key, text)
    if value is None:
        takes = kinds_told(known.kinds[key], known.words.get(key))
        keeps = phrase("its default of {default}", default=default) if default else phrase("its default")
        blank = phrase("; mind the blank at its end") if text != text.strip(_BLANKS) else ""
        return as_is(
            Fate.IGNORED, default, phrase(
                "\"{shown}\" is not {takes}, and {release} keeps {keeps} without a word{blank}",
                shown=shown, takes=takes, release=release, keeps=keeps, blank=blank,
            ),
            _for_value(text, takes),
        )  # fmt: skip
    if known.kinds[key] == "boolean" and text.lower() not in ("true", "false"):
        return as_is(
            Fate.READ,
            value,
            phrase(
                '"{shown}" is not "true", and {release} reads false',
                shown=shown,
                release=release,
            ),
            _for_value(
                text,
                phrase(
                    "true or false",
                ),
            ),
        )
    if key in MENDED and value != CONVERSIONS[known.kinds[key]][1](text):
        return as_is(
            Fate.READ,
            value,
            phrase(
                "{release} makes {value} of {shown}",
                release=release,
                value=value,
                shown=shown,
            ),
            phrase("Write what it makes of it."),
        )
    if key in BOUNDED and not BOUNDED[key][0] <= int(value) <= BOUNDED[key][1]:
        low, high = BOUNDED[key]
        bound = low if int(value) < low else high
        return as_is(
            Fate.READ,
            value,
            phrase(
                "{release} goes by {bound} in place of {value}",
                release=release,
                bound=bound,
                value=value,
            ),
            phrase(
                "It takes {low} to {high}.",
                low=low,
                high=high,
            ),
        )
    return as_is(Fate.READ, value)


def _default(key: str, known: Settings) -> str:
    value = known.broker.get(key, "")
    return "" if value in ("?", "null", BY_PROCESSORS) else value


def _for_unknown(key: str, known: Settings) -> str:
    if re.match(r"(com\.)?rocketmq\.", key):
        return phrase("It is a property of the JVM: start the broker with it as -DKEY=VALUE, and remove the line.")
    near = nearest(key, known.kinds, MISTYPED_LIKE)
    return (
        phrase("Did you mean {near}?", near=" or ".join(near))
        if near
        else phrase("Look for the release's own name of the setting, or remove the line.")
    )


def _for_value(text: str, takes: str) -> str:
    return (
        phrase("Put the comment on a line of its own.")
        if comment_in(text)
        else phrase(
            "Write {takes} and nothing else.",
            takes=takes,
        )
    )


# --- files that are no broker's -------------------------------------------------------------------------------------------


def whose_file(conf: ConfFile) -> ConfigurationError | None:
    """The refusal of a file that is another node's, by its keys; None for a broker's."""
    keys = conf.entries.keys()
    if IDENTITY & keys:
        return None
    others = {"a broker container": CONTAINERS, **_others()}
    servers, controllers = others["a name server"], others["a controller"]
    brokers = len((keys & _brokers()) - COMMON)
    for whose, of_it in (
        ("a broker container", CONTAINERS), ("a name server", servers - controllers), ("a controller", controllers - servers),
        ("a name server", servers),
    ):  # fmt: skip
        if found := sorted(keys & of_it, key=lambda key: conf.entries[key].line):
            if len(keys & (servers | controllers | CONTAINERS)) <= brokers:
                return None
            where = f"{conf.name}:{conf.entries[found[0]].line}" if conf.name else "these settings"
            return ConfigurationError(
                f"{where}: this is {whose}'s file, not a broker's: {excerpt(found[0])} is a setting of {whose}",
                advice="Give the file that a broker is started with (mqbroker -c FILE).",
            )
    return None


@cache
def _others() -> Mapping[str, frozenset[str]]:
    known = [settings_of(release).others for release in releases_with_settings()]
    return {whose: frozenset(key for one in known for key in one.get(whose, ())) - _brokers() for whose in known[-1]}


@cache
def _brokers() -> frozenset[str]:
    return frozenset(key for release in releases_with_settings() for key in settings_of(release).kinds)
