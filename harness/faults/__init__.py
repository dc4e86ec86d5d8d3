"""One kind of event a file, or a folder with its rule: what injects it, and what heals it.

A new fault is a value in ``harness/model/faults.py``, which names its proof, one file here that declares its ``INJECTIONS``,
and its test. The runner stamps, the registry (``injections.py``) collects, and validity looks for the proof.
"""
