"""Which cluster to rent to sort or shuffle terabytes, for how long and for how much.

>>> import planner
>>> planner.recommend(data="100TB", model="daytona").best
"""
