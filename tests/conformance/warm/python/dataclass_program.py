from dataclasses import dataclass, field
from typing import Optional, get_type_hints


@dataclass(frozen=True, order=True)
class Node:
    value: int
    next: "Optional[Node]" = field(default=None, compare=False)


print(Node(1, Node(2)), Node(1) < Node(2), get_type_hints(Node))
try:
    Node(1).value = 3
except Exception as error:
    print(type(error), error)
