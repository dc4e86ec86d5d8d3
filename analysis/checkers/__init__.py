"""One property a file: tables of the evidence in, a table of observations (``schema.OBSERVATIONS``) out.

A checker never decides. It gives every value that the property can be judged by, zeros included, each with the file and
line that show it; what cannot be judged in a trial gives no value there.
"""
