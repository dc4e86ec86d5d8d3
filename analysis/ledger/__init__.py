"""The record of runs, and the ledger that is made from it."""
