"""Driving a measurement: environments, progress, rows."""
