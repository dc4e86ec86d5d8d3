"""The language of whoever reads: English, or what a catalogue has of it.

A text is looked up by its English with the names of its figures in braces, as gettext does, and the figures are filled in last.
``phrase`` makes English that remembers what it was made of, so that data stay English wherever they are kept or printed as JSON,
and ``translated`` says it in the reader's language where it is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Self

ENGLISH, CHINESE = "en", "zh_CN"
ASKED_BY = ("MQLAB_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
"""Variables of the environment that name a language; the first that is set decides."""
_CHINESE = re.compile(r"(?i)zh(?:[_-](?:CN|SG|Hans)(?:[_-]\w+)?)?(?:[.@].*)?")
"""As locales name it, and as people do. Who reads traditional letters is not given others."""
_FIGURE = re.compile(r"\{([^{}]+)\}")
_SENTENCE_IN_ONE = re.compile("\u3002(?=[\uff1b\uff0c\u3002\u3001\uff1a\uff09;,.:)])")
"""The full stop of a sentence that stands within another one, before the punctuation of that."""
_BLANK = re.compile("(?<=[\uff1b\uff0c\u3002\u3001\uff1a\uff09]) (?=[\u4e00-\u9fff])")
"""Between full-width punctuation, which is wide enough, and a letter."""


class Phrase(str):
    """English that was made of a ``template`` and its figures, some of which may be phrases themselves.

    Of phrases that were joined the template is empty, and ``parts`` has them and what stands between.
    """

    template: str
    figures: Mapping[str, object]
    parts: tuple[str, ...]

    def __new__(
        cls, text: str, template: str = "", figures: Mapping[str, object] | None = None, parts: tuple[str, ...] = ()
    ) -> Self:
        """Made by ``phrase`` and ``joined``."""
        made = super().__new__(cls, text)
        made.template, made.figures, made.parts = template, figures or {}, parts
        return made


def phrase(template: str, /, **figures: object) -> Phrase:
    """English with its figures, each as ``str.format`` has it: ``{count:,}``. Of a phrase it is the same, with other figures."""
    if isinstance(template, Phrase):
        if not figures:
            return template
        template = template.template
    return Phrase(filled(template, figures), template, figures)


def joined(separator: str, parts: Iterable[str]) -> Phrase:
    """The phrases one after another; what stands between them is looked up as well."""
    some = tuple(parts)
    return Phrase(separator.join(some), parts=(separator, *some))


def translated(text: str, /, **figures: object) -> str:
    """The text in the reader's language, and in English where the catalogue has nothing of it."""
    if figures:
        text = phrase(text, **figures)
    if language() == ENGLISH:
        return text
    return _BLANK.sub("", _SENTENCE_IN_ONE.sub("", _translated(text, _texts(language()))))


def _translated(text: str, known: Mapping[str, str]) -> str:
    if not isinstance(text, Phrase):
        return known.get(text, text)
    if text.parts:
        separator, *parts = text.parts
        return known.get(separator, separator).join(_translated(part, known) for part in parts)
    if text.template not in known and text.template:
        # What is inside of it may be known all the same.
        return filled(text.template, _translated_figures(text.figures, known))
    return filled(known.get(text.template, str(text)), _translated_figures(text.figures, known))


def _translated_figures(figures: Mapping[str, object], known: Mapping[str, str]) -> dict[str, object]:
    return {name: _translated(one, known) if isinstance(one, Phrase) else one for name, one in figures.items()}


def filled(template: str, figures: Mapping[str, object]) -> str:
    """A template with its figures; what stands in braces and is none stays as it is."""
    return _FIGURE.sub(lambda found: _figure(found, figures), template) if figures else template


def _figure(found: re.Match[str], figures: Mapping[str, object]) -> str:
    if found[1] in figures:
        return format(figures[found[1]], "")
    name, _, how = found[1].rpartition(":")
    return format(figures[name], how) if name in figures else found[0]


def names_in(template: str) -> tuple[str, ...]:
    """The figures of a template as they stand in it, each as often as it does."""
    return tuple(sorted(_FIGURE.findall(template)))


def language() -> str:
    """What the environment asks for, of what there is a catalogue of; English otherwise."""
    asked = next((said for name in ASKED_BY if (said := os.environ.get(name))), "")
    return CHINESE if asked[:2].lower() == "zh" and _CHINESE.fullmatch(asked) else ENGLISH


def tag() -> str:
    """The language as HTML names it."""
    return {CHINESE: "zh-CN"}.get(language(), ENGLISH)


@cache
def _texts(name: str) -> Mapping[str, str]:
    """Of a language, by their English."""
    from importlib import resources

    import polib

    catalogue = resources.files("harness").joinpath("languages", f"{name}.po").read_text(encoding="utf-8")
    return {one.msgid: one.msgstr for one in polib.pofile(catalogue) if one.msgstr and not one.obsolete}
