"""Which rows may be published."""
