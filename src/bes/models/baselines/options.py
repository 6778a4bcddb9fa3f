"""Kinds of numbers that options are, checked where a method is made."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

#: 1, 2, 3, ...
Count = Annotated[int, Ge(1)]

#: 0, 1, 2, ...
Natural = Annotated[int, Ge(0)]

#: Above 0.
Positive = Annotated[float, Gt(0)]

#: 0 or more.
NonNegative = Annotated[float, Ge(0)]

#: Between 0 and 1, 1 excluded: of what is dropped.
Dropped = Annotated[float, Ge(0), Lt(1)]

#: Between 0 and 1.
Share = Annotated[float, Ge(0), Le(1)]
