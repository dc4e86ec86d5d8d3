"""What an upgrade changes, as one page."""

from __future__ import annotations

from markupsafe import Markup

from analysis.report.html import asset, environment
from analysis.report.upgrade import Upgrade
from analysis.report.upgrade_screen import LEADS_TO, MORE, Screen, fitting, head, headings
from harness.language import translated

LINES_OF_PAGE, PREPARED_OF_PAGE = 45, 5
"""Of the terminal: on a telephone they stand on five screens."""


def page(found: Upgrade, shown: Screen, conf_name: str = "") -> str:
    """The screen as one HTML file, and folded below it everything, each claim with its figures."""
    return (
        environment()
        .get_template("upgrade.html.j2")
        .render(
            head=translated(head(found, shown, conf_name)),
            colon=translated(": "),
            headings=[
                (one, most) for one, most in fitting(found, shown, LINES_OF_PAGE, PREPARED_OF_PAGE) if one.title != MORE
            ],
            leads_to=LEADS_TO,
            everything=headings(found, shown, everything=True),
            style=Markup(asset("style.css")),  # our own file, not data
        )
    )
