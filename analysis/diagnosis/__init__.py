"""What an operator's own logs say: typed events of any node's files, and which known incidents they show.

``reading`` makes events of files, one line after the other; ``rules`` find incidents among the events; ``diagnosis`` is the
document that the terminal, JSON and the page are made of. Plain Python: a log is read where it lies, without Spark.
"""
