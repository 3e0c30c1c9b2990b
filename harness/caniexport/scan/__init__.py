"""``workaround --scan``: version gates and workarounds in a source tree, held against what was measured.

``files`` reads the tree. ``gates`` understands a comparison with torch's version, ``exports`` the export calls,
``backends`` whom code is for. ``normal`` brings code to a normal form (``terms``), in which ``forms`` knows the fixes
of the corpus and those of ``cases/forms.toml``; ``stated`` finds the places that are there for an export by what their
author says, ``ranked`` the case that such a place is about, ``workarounds`` puts both together. ``rules`` knows export
rules, ``values`` what an exporter cannot follow. ``sites`` lists all of it, ``pins`` reads the versions that a project
names, ``judge`` says what the rows say.
"""
