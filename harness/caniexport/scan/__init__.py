"""``workaround --scan``: version gates and known workarounds in a source tree, held against what was measured.

``files`` reads the tree, ``gates`` understands a comparison with torch's version, ``sites`` finds what to judge,
``pins`` reads the versions that the project names, ``judge`` says what the rows say.
"""
