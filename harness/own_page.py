"""Which requests a page on loopback answers: its own, those of programs, and of other pages none but a link that is followed.

A browser sends what any web page asks of it to loopback as well: a form or a script of that page would give orders there, in the
name of whoever looks at it (cross-site request forgery). And a name that its owner has point to loopback makes that page's
requests look as if they were of the same origin (DNS rebinding), but for the name in ``Host``. What is no browser sends none of
these headers but ``Host``, and nobody's page can have it ask.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

_OWN = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?", re.ASCII)
READS = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""
OWN_SITE = frozenset({"", "same-origin", "none"})
"""Values of Sec-Fetch-Site: no browser, a page of its own, or an address that was typed."""
PROTECTING = (
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
)
"""Headers of an answer: no other page shows it within itself, or has it as a script or a picture."""


def why_refused(method: str, header: Callable[[str], str | None]) -> str:
    """One sentence where a request is not to be answered, else empty. ``header`` has the request's by name, or None."""
    host = header("Host") or ""
    if not _OWN.fullmatch(host):
        return "This page answers as 127.0.0.1 or localhost alone."
    origin = header("Origin")
    # "null" is the origin of a page that has none, such as one in a sandbox.
    if origin is not None and origin != f"http://{host}":
        return "This page answers no other web page."
    site, reads = header("Sec-Fetch-Site") or "", method in READS
    is_followed_link = reads and (header("Sec-Fetch-Mode"), header("Sec-Fetch-Dest")) == ("navigate", "document")
    if site not in OWN_SITE and not is_followed_link:
        return "This page takes no orders from another web page, and is shown in none."
    if not reads and (referer := header("Referer")) and _origin_of(referer) != f"http://{host}":
        return "This page takes no orders from another web page."
    return ""


def _origin_of(referer: str) -> str:
    try:
        where = urlsplit(referer)
    except ValueError:
        return ""
    return f"{where.scheme}://{where.netloc}"
