"""A sample of published cells, measured again by a script that shares nothing with the worker but the case class."""
