"""Importers: tasks of other benchmarks, read from their checkouts as data, without running anything of theirs."""
