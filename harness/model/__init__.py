"""The nouns that the harness, the scenarios and the analysis share.

Every value is frozen, keyword-only and made of the standard library alone, so that a run directory written today can
be read by an analysis that has neither a cluster nor a client installed. Times are seconds or milliseconds as the last
word of a name says; ``*_ns`` is nanoseconds of the host's monotonic clock.
"""
