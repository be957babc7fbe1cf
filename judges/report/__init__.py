"""What a study says, in tables, figures and pages."""
