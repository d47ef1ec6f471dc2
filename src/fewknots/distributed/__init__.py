"""The same fit on a Dask cluster: the bound is a sum over rows, wherever they are.

| module        | what it is                                                                  |
|---------------|-----------------------------------------------------------------------------|
| `collections` | what is a Dask collection, without importing Dask to find out; its pieces   |
| `workers`     | what runs where the rows are: load once, then sums for any parameters       |
| `survey`      | what one pass over all rows tells the client: sizes, labels, moments        |
| `rounds`      | one round: parameters out, a tree of sums back                              |
| `stragglers`  | workers that hold up a round, and doing without them                        |
| `errors`      | what Dask's errors mean, and how to go on after each                        |
| `versions`    | whether everyone runs the same fewknots and JAX                             |
| `connection`  | a client for an address, for a local cluster, or the one there is           |
| `fitting`     | a Dask collection as a table that can sum its rows                          |
| `predicting`  | predictions that stay Dask collections                                      |

Only `collections` may be imported without the extra `dask`.
"""
