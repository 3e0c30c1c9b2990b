"""A user's model in the environment that measures it: made, given further inputs, exported as a case. Python 3.7."""
