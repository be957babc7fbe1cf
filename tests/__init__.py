"""The proofs, one claim each; the folders mirror those of the project."""
