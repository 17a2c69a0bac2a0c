"""Experiments: settings with many seeds, whose runs are made, stored and read in one way by sweeps and studies.

| module | subject |
| --- | --- |
| `plan` | settings, and the runs that follow from them |
| `recording` | the columns that are stored of each run |
| `runs` | the runs of a plan as columns: identities, seeds, settings |
| `execute` | runs that are not stored yet are made |
| `kept` | tables of single runs, stored as files |
| `table` | stored runs in the order of the plan, and those that failed |
| `shards` | parts of a plan, for clusters without a daemon |
| `networks` | networks of the kernel lane, measured before runs in real time |
| `own_code` | errors of functions that a study brings |
| `executors`, `store` | where runs are made and where they are stored |
| `identity` | what identifies a stored run |
| `failures` | runs that failed, beside those that are stored |
| `repetitions`, `equal_runs` | how often a setting is repeated; factors that change nothing |
| `sweeps` | a scenario over the levels of factors, with many seeds |
"""
