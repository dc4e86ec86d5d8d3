"""Which of the log lines that the lab knows a release writes: asked of its classes, since 5.0.0 has some words of 4.x still."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

from harness.model.log_events import WORDINGS, LineWords, Logged, Wording
from harness.releases.class_file import class_of, has_class, texts

_OURS = "org.apache.rocketmq."


def writes(release: str, wording: Wording) -> bool:
    """Whether a class of a release has the words, itself or in a class without a name that it holds. Raises as ``ensure_jars``."""
    words = wording.written or wording.words
    # "unregisterBroker" has the words of "registerBroker", and is another event.
    longer = [
        one.words for one in WORDINGS if words in one.words and one.words != words and one.event is not wording.event
    ]
    said = (text for name in wording.by.split(", ") for text in texts_of(release, name))
    return any(words in text and not any(one in text for one in longer) for text in said)


def writes_line(release: str, wording: LineWords) -> bool:
    """Whether a class of a release has the words, as ``writes`` looks for them."""
    return any(wording.words.strip() in text for name in wording.by.split(", ") for text in texts_of(release, name))


def unwritten(release: str) -> tuple[tuple[Logged, str], ...]:
    """The kinds of events that nothing of a release writes in words that are known here, each with the classes that were looked at.

    Raises as ``ensure_jars``.
    """
    by_event: dict[Logged, list[Wording]] = {}
    for wording in WORDINGS:
        if wording.by.startswith(_OURS):  # what Netty says is in no jar of RocketMQ's own
            by_event.setdefault(wording.event, []).append(wording)
    return tuple(
        (event, " or ".join(dict.fromkeys(one.by for one in of)))
        for event, of in by_event.items()
        if not any(writes(release, one) for one in of)
    )


@cache
def texts_of(release: str, class_name: str) -> tuple[str, ...]:
    """All texts of a class and of those without a name in it; none where the release has no such class."""
    return tuple(text for name in _with_inner(release, class_name) for text in texts(class_of(release, name)))


def _with_inner(release: str, class_name: str) -> Iterator[str]:
    if has_class(release, class_name):
        yield class_name
        for number in itertools.count(1):
            if not has_class(release, f"{class_name}${number}"):
                return
            yield f"{class_name}${number}"
