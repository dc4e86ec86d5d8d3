"""How often the rules are right, by simulation: the tables of README.md here."""
