"""Tests of judges.metrics."""
