"""A fit on a Dask cluster: the bound is a sum over rows, and each worker sums its own rows.

| module        | what it does                                                                |
|---------------|-----------------------------------------------------------------------------|
| `workers`     | runs on the workers: load rows once, then sums for any parameters           |
| `survey`      | one pass over all rows: sizes, labels, moments                              |
| `rounds`      | one round: sends parameters, receives a tree of sums                        |
| `stragglers`  | finds and restarts workers that delay a round                               |
| `connection`  | clients of a cluster, the versions of its processes, its errors in words    |
| `fitting`     | a Dask collection, by its partitions, as a table that can sum its rows      |
| `predicting`  | predictions that stay Dask collections                                      |

All of it needs the extra `dask`.
"""
