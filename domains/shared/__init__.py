"""What several businesses share, written once and mounted with parameters."""
