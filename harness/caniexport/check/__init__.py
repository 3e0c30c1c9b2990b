"""A user's own model, or cases of their own, through releases, exporters and opsets.

``subject`` reads what is to be checked, ``environments`` finds the Python that measures, ``measure`` measures,
``answer`` says what came of it. ``inside`` runs in the measured environments.
"""
