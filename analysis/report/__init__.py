"""What a person, a pipeline or another program reads of a run: page, ledger, JUnit, Markdown, terminal.

Nothing here computes a verdict. The input is ``RUN/analysis/findings.jsonl`` and ``page.json``, which the analysis wrote; no
Spark is needed to render a report again.
"""
