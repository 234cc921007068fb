"""Loops: what a body changes, the rows that it leaves at every trip, and when it ends."""
import collections
import itertools

from ..graph import Value
from .closures import Region
from .tensors import Tensor

# Bounds from here on only say that there is none.
_UNBOUNDED = 2**31 - 1


class Loop:
    """One loop around a body. States are what the body gets and returns; rows are stacked.

    build(region, scope, iteration, states) imports the body and returns (condition, states, rows); the condition is
    None or a constant where it never ends the loop. names: of the iteration number and the states."""

    def __init__(self, closure, names, states, build):
        self.closure, self.names, self.states, self.build = closure, names, states, build
        self.node, self.graph, self.extents = closure.node, closure.node.graph, closure.extents
        # For every extent of every state: None where the body keeps it, else a number that is shared by those that
        # change alike.
        self.classes = [[None] * state.rank for state in states]
        self._numbers = itertools.count()

    def run(self, trips, condition, reversed_rows=()):
        """(states, rows) after the last trip: tensors.

        trips: an int, extent, or i64 value; None: no bound. condition: whether the first trip happens: bool or value.
        reversed_rows: the rows that are stacked from the last to the first."""
        body = _Body(self)
        while self._refine(body):
            body = _Body(self)
        early = body.condition is not None and not body.condition.item()
        if not early:
            trips, condition = self._unless_false(trips, condition), True
        return _Run(self, body, trips, condition if early else None, bool(body.rows), reversed_rows).results()

    def _unless_false(self, trips, condition):
        """How often a loop runs that only its first condition may end."""
        if condition is False:
            return 0
        if trips is None:
            self.node.fail("it never ends: it has neither a trip count nor a condition that changes")
        if condition is True:
            return trips
        return self.graph.select(condition, trips if isinstance(trips, Value) else self.extents.as_value(trips), 0)

    def _refine(self, body):
        """Tells apart extents that the body does not treat alike; returns whether there were any."""
        members = collections.defaultdict(list)
        for i, (before, after) in enumerate(zip(body.arguments, body.states)):
            for j, (old, new) in enumerate(zip(before.shape, after.shape)):
                kind, text = self.classes[i][j], body.region.extents.text(new)
                if kind is None:
                    if body.region.extents.text(old) == text:
                        continue
                    kind = self.extents.text(self.states[i].shape[j])
                members[kind, text].append((i, j))
        parts, changed = collections.Counter(kind for kind, _ in members), False
        for (kind, _), places in members.items():
            if isinstance(kind, str) or parts[kind] > 1:
                number, changed = next(self._numbers), True
                for i, j in places:
                    self.classes[i][j] = number
        return changed


class _Body:
    """The body's graph for one assumption on the extents that it changes."""

    def __init__(self, loop):
        self.loop, self.region = loop, Region(loop.closure, "body")
        region, extents = self.region, self.region.extents
        self.iteration = region.input(loop.names[0], "i64", [])
        symbols = {}
        self.arguments = []
        for name, state, classes in zip(loop.names[1:], loop.states, loop.classes):
            for number in classes:
                if number is not None and number not in symbols:
                    symbols[number] = extents.fresh("n")
            shape = [region.dim(dim) if number is None else symbols[number]
                     for dim, number in zip(state.shape, classes)]
            self.arguments.append(region.tensor(region.input(name, state.dtype, shape), state))
            self.arguments[-1].sources = loop.closure.sources  # whatever the body reads may be in it
        scope = region.capture()
        self.condition, self.states, self.rows = loop.build(region, scope, region.tensor(self.iteration),
                                                            self.arguments)
        for name, before, after in zip(loop.names[1:], self.arguments, self.states):
            if (before.dtype, before.rank, before.narrow) != (after.dtype, after.rank, after.narrow):
                loop.node.fail(f'the body gets {before.dtype} of rank {before.rank} as "{name}", but returns '
                               f"{after.dtype} of rank {after.rank}")


class _Run:
    """The while_ of a body: what it carries, in order, and what its results mean."""

    def __init__(self, loop, body, trips, condition, stacks, reversed_rows):
        self.loop, self.node, self.graph, self.extents = loop, loop.node, loop.graph, loop.extents
        self.body, self.region, self.inner = body, body.region, body.region.graph
        self.early, self.reversed_rows = condition is not None, reversed_rows
        self.operands = [self.graph.scalar(0, "i64"), *(state.value for state in loop.states), *self.region.captured]
        self.returned = [self.inner.add(body.iteration, 1), *(state.value for state in body.states),
                         *list(self.region.inputs.values())[1 + len(loop.states):]]
        symbols = collections.defaultdict(lambda: self.extents.fresh("n"))
        self.shapes = [[], *([dim if number is None else symbols[number] for dim, number in zip(state.shape, classes)]
                             for state, classes in zip(loop.states, loop.classes)),
                       *(list(value.shape) for value in self.region.captured)]
        self.changes = bool(symbols)
        self._limit(trips, stacks)
        self._end = None
        if self.early:
            first = self.graph.scalar(int(condition), "bool") if isinstance(condition, bool) else condition
            self._end = self._carry("condition", first, [], self.inner.reshape(body.condition.value, []))[0]

    def _limit(self, trips, stacks):
        """The bound as a value and, where rows are stacked up to it, as an extent."""
        if self.early and isinstance(trips, int) and trips >= _UNBOUNDED:
            trips = None
        is_extent = trips is not None and not isinstance(trips, Value)
        if is_extent:
            trips = self.extents.max(trips, 0)
        if trips is not None and not is_extent and stacks and not self.early:
            trips, is_extent = self.extents.bind(self.graph.max(trips, 0)), True
        self.extent = trips if is_extent else None
        self._stop = self._span = None  # the place of the bound; the extent in the body
        if trips is not None:
            self._stop = self._carry("trips", self.extents.as_value(trips) if is_extent else trips, [])[0]

    def _carry(self, name, operand, shape, returned=None, becomes=None):
        """(place, value in the body) of one more carried value; the body returns it unchanged unless told otherwise.

        shape: in the body. becomes: the result's extents, where they change."""
        argument = self.region.input(name, operand.dtype, shape)
        self.operands.append(operand)
        self.returned.append(argument if returned is None else returned)
        self.shapes.append(list(operand.shape) if becomes is None else becomes)
        self.changes = self.changes or becomes is not None
        return len(self.operands) - 1, argument

    def results(self):
        stacks = [self._stack(i, row) for i, row in enumerate(self.body.rows)]
        for name, value in zip(self.region.inputs, self.returned, strict=True):
            self.inner.output(name, value)
        shapes = [dim for shape in self.shapes for dim in shape] if self.changes else ()
        self.values = self.graph.while_(self.operands, self._condition(), self.inner, shapes)
        states = [self._result(value, state) for value, state in zip(self.values[1:], self.body.states)]
        return states, [self._result(finish(), row) for finish, row in zip(stacks, self.body.rows)]

    def _result(self, value, like):
        tensor = Tensor(self.extents, self.graph, value=value)
        tensor.narrow = like.narrow
        return tensor

    def _condition(self):
        graph, values = self.region.alike("condition")
        more = None if self._stop is None else graph.lt(values[0], values[self._stop])
        if self._end is not None:
            more = values[self._end] if more is None else graph.and_(more, values[self._end])
        graph.output("more", more)
        return graph

    def _stack(self, i, row):
        """Carries what gathers one row of every trip; returns what makes the stack of it after the loop."""
        outer = [self.region.outer(dim) for dim in row.shape]
        if None in outer:
            return self._flat(i, row, outer)
        return self._grown(i, row, outer) if self.extent is None else self._written(i, row, outer)

    def _written(self, i, row, outer):
        """Rows written into a tensor of as many as there can be."""
        inner, zero = self.inner, self.graph.scalar(0, row.dtype)
        if self._span is None:
            self._span = self.extent if isinstance(self.extent, int) else self.region.extents.fresh("n")
        place, stack = self._carry("rows", self.graph.broadcast(zero, [self.extent, *outer]), [self._span, *row.shape])
        index = self.body.iteration
        if i in self.reversed_rows:
            index = inner.sub(inner.sub(list(self.region.inputs.values())[self._stop], index), 1)
        self.returned[place] = inner.scatter(stack, inner.reshape(index, [1, 1]), inner.reshape(
            row.value, [1, *row.shape]), "set")

        def finish():
            done = self.values[place]
            return self.graph.slice(done, [0] * (1 + row.rank), [self._count(), *outer]) if self.early else done

        return finish

    def _grown(self, i, row, outer):
        """Rows appended, where no bound is known."""
        empty = self.graph.broadcast(self.graph.scalar(0, row.dtype), [0, *outer])
        place, stack = self._carry("rows", empty, [self.region.extents.fresh("n"), *row.shape],
                                   becomes=[self.extents.fresh("n"), *outer])
        self.returned[place] = self._appended(i, stack, self.inner.reshape(row.value, [1, *row.shape]))
        return lambda: self.graph.reshape(self.values[place], [self._count(), *outer])

    def _appended(self, i, stack, row):
        """`stack` with one more row, in front where the rows are reversed."""
        return self.inner.concat([row, stack] if i in self.reversed_rows else [stack, row], 0)

    def _flat(self, i, row, outer):
        """Elements appended, where only the body knows the extents of a row: the last row's are carried out."""
        inner, extents = self.inner, self.region.extents
        empty = self.graph.broadcast(self.graph.scalar(0, row.dtype), [0])
        place, flat = self._carry("rows", empty, [extents.fresh("n")], becomes=[self.extents.fresh("n")])
        self.returned[place] = self._appended(i, flat, inner.reshape(row.value, [extents.product(row.shape)]))
        places = [self._carry("extent", self.graph.scalar(0, "i64"), [], extents.as_value(dim))[0]
                  if out is None else None for dim, out in zip(row.shape, outer)]

        def finish():
            dims = [self.extents.bind(self.values[at]) if out is None else out for at, out in zip(places, outer)]
            return self.graph.reshape(self.values[place], [self._count(), *dims])

        return finish

    def _count(self):
        """How many trips there were."""
        return self.extents.bind(self.values[0]) if self.extent is None or self.early else self.extent
