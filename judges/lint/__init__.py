"""Lint: what is wrong with tasks, found before an agent is tried on them."""
