"""The case model and everything else that a measured environment and this side share: Python 3.7, standard library."""
