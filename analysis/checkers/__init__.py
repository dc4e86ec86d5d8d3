"""One property a file: tables of evidence in, a table of observations (``tables.OBSERVATIONS``) out.

A checker never decides. It gives every value that the property can be judged by, zeros included, each with the file and
line that show it. Where a trial cannot be judged it gives no value.
"""
