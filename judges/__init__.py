"""What a finished trial is worth, and what many trials say."""
