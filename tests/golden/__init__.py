"""
Recorded trials that today's code must still replay and judge as it did.

`recorded/` holds a file for each. `make golden` shows which records and verdicts a change moves, and writes them anew;
the diff is reviewed. Files of old event versions are never written anew.
"""
