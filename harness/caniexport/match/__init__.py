"""From what a user has in hand (an error text, an operator, a model) to the cases that it is about."""
