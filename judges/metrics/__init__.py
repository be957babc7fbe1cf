"""What many trials say: rates, their uncertainty, comparisons, cost. Pure functions over plain counts."""
