"""What a method can do, said once by the method and read by everyone who has to know.

Training, streams, checks of arguments, export, reports and the command line ask these, and never
which class a method is. A method states only what differs from the lines below.
"""

from typing import Any, ClassVar


class Capabilities:
    """Declared by a method's class; its fields are its options."""

    name: ClassVar[str]
    is_bound: ClassVar[bool]  # the evidence is a lower bound
    sparse: ClassVar[bool] = False  # has inducing points, which can be placed and can move
    chooses_rows: ClassVar[bool] = False  # is held by some of the rows, which it chooses itself
    stores_rows: ClassVar[bool] = False  # a fitted model holds rows as they are
    looks_up_neighbours: ClassVar[bool] = False  # each prediction has its own few rows
    several_latent: ClassVar[bool] = False  # for likelihoods of several latent functions, too
    has_q: ClassVar[bool] = False  # q(u) can be moved by any optimiser: jointly, by minibatches
    streams: ClassVar[bool] = False  # learns from rows that are read piece by piece
    sums_rows: ClassVar[bool] = False  # all it needs of the rows adds up, also on a cluster
    exports_to_onnx: ClassVar[bool] = True
    likelihoods: ClassVar[tuple[str, ...] | None] = None  # that it is derived for; None: any
    optimizer: ClassVar[str] = "collapsed"  # what optimizer="auto" means in full batch
    OPTIONS: ClassVar[dict[str, Any]] = {}  # by name: the values there are, or their type

    @property
    def weights(self) -> str:
        """Which there may be: "any", "copies" (0 or at least 1) or "whole" numbers (of rows)."""
        raise NotImplementedError
