"""The corpus: its checks, its claims, what upstream says of them."""
