"""How graders of records go wrong, one claim each, on the probe domain."""
