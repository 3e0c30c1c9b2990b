"""A user's own model, or cases of their own, through the same matrix; what is measured stays in a folder of theirs.

``subject`` reads what is to be checked, ``run`` measures it in a folder of theirs, ``answer`` says what came of it.
``inside`` becomes a part of the case file that is written for a factory: it runs in the measured environments.
"""
