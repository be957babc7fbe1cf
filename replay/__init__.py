"""What can be done with a recorded trial."""
