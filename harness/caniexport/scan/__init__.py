"""``caniexport scan``: workarounds, version gates and export calls in a source tree, held against what was measured.

``files`` reads the tree, ``pins`` the releases that a project takes. ``sites`` lists the places: ``patterns`` are the
rules of ``cases/scan_rules.yml``, ``gates`` comparisons with torch's version, ``exports`` export calls.
"""
