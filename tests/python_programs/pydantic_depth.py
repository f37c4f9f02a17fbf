# packages: pydantic
import json
import threading
from typing import Annotated, Optional

from pydantic import BaseModel, ValidationError, WrapValidator


class Node(BaseModel):
    child: Optional["Node"] = None


class Listed(BaseModel):
    child: list["Listed"] = []


class Wrapped(BaseModel):
    child: Annotated[Optional["Wrapped"], WrapValidator(lambda value, go_on: go_on(value))] = None


def tried(what):
    try:
        return what()
    except ValidationError as error:
        return error.errors()[0]["type"]
    except ValueError as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


def depth_of(node):
    depth = 0
    while node.child:
        node, depth = (node.child[0] if isinstance(node.child, list) else node.child), depth + 1
    return depth


def all_of_it():
    for model in (Node, Listed, Wrapped):
        node = model()
        for depth in range(121):
            value = node.model_dump()
            if depth in (47, 48, 60, 120):
                print(model.__name__, depth, tried(lambda: depth_of(model.model_validate(value))), tried(lambda: len(str(value))), tried(lambda: len(node.model_dump_json())))
            node = model.model_construct(child=[node] if model is Listed else node)
    value = {}
    node = Node()
    for depth in range(256):
        if depth > 252:
            print(depth, tried(lambda: depth_of(Node.model_validate(value))), tried(lambda: len(str(node.model_dump()))), tried(lambda: len(node.model_dump_json())))
        value = {"child": value}
        node = Node.model_construct(child=node)
    print(depth_of(Node.model_validate_json(json.dumps({"child": {"child": {}}}))))


thread = threading.Thread(target=all_of_it)
thread.start()
thread.join()
