"""A user's model as a case, in the environment that measures it. Python 3.7."""
