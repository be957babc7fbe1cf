"""The public mounts against what the public benchmark's own servers were recorded to answer."""
