"""Results of other tools, kept as campaigns that can be counted and compared."""
