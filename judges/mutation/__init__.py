"""Mutation: mistakes put into golden calls, to see whether the judges notice."""
