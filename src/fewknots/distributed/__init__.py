"""A fit on a Dask cluster: the bound is a sum over rows, and each worker sums its own rows.

| module        | what it does                                                                |
|---------------|-----------------------------------------------------------------------------|
| `collections` | recognises Dask collections without importing Dask; their partitions        |
| `workers`     | runs on the workers: load rows once, then sums for any parameters           |
| `survey`      | one pass over all rows: sizes, labels, moments                              |
| `rounds`      | one round: sends parameters, receives a tree of sums                        |
| `stragglers`  | finds and restarts workers that delay a round                               |
| `errors`      | explains Dask's errors, and how to continue after each                      |
| `versions`    | checks that all processes run the same fewknots and JAX                     |
| `connection`  | a client for an address, for a local cluster, or the current client         |
| `fitting`     | a Dask collection as a table that can sum its rows                          |
| `predicting`  | predictions that stay Dask collections                                      |

Only `collections` may be imported without the extra `dask`.
"""
