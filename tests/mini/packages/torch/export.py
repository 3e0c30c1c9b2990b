"""Dimensions as graph capture names them."""


class Dim:
    DYNAMIC = "dynamic"
