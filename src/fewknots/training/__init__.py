"""How a bound is driven to its optimum: which parameters move, in what order, until when."""
