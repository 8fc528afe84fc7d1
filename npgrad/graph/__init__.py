"""Recording and walking: nodes, the array that records, and the sweeps over what was recorded.

Nothing in here knows what a NumPy function means: that is the table's and the rules' business.
"""
