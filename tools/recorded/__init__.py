"""The record of runs, and the ledger and the README that are made from it: what maintainers alone do."""
