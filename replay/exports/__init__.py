"""Recorded campaigns in the forms that other tools read. docs/exports.md"""
