"""Local rows into the published dataset."""
