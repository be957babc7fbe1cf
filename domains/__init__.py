"""What worlds contain: the bundled businesses, and the importers of foreign packs."""
