"""Methods of Graph that append loops: recurrent layers, sorting, and selection of elements."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_double, c_int64, c_uint64
from typing import TYPE_CHECKING, Any, Optional, SupportsIndex

from . import _library
from ._convert import i64
from ._library import check

if TYPE_CHECKING:
    from ._building import Building
    from ._types import DimLike, Operand
    from .value import Value
else:
    Building = object


class Layers(Building):
    """A base of Graph."""

    def rnn(self, x: Operand, w: Operand, r: Operand, **options: Any) -> tuple[Value, Value]:
        """(y, h) of h' = f(x w^T + h r^T) over the steps of x [T, B, I]: y [T, B, H] has the state after each step, h
        [B, H] is the last one. w is [G * H, I] and r [G * H, H]: G blocks of rows, one per gate; here G = 1. f is tanh.

        bias, recurrent_bias: [G * H], added to x w^T and to h r^T.
        initial_h, initial_c: [B, H]; None: zeros. Only lstm has a c.
        lengths: i32 or i64 [B]; what lies beyond keeps the state and gives 0.
        reverse: from the last step to the first.
        clip: what the gates' functions get is within [-clip, clip].
        activations: names, or (name, alpha, beta), of f, g, k; see tailor_recurrence_options in tailor/compiler.h."""
        y, h = self._recurrence("rnn", 2, x, w, r, **options)
        return y, h

    def gru(self, x: Operand, w: Operand, r: Operand, *, linear_before_reset: bool = False,
            **options: Any) -> tuple[Value, Value]:
        """(y, h) of gates z, r, n, in this order, as rnn(): h' = (1 - z) n + z h with z, r = f(x w^T + h r^T) and
        n = g(x w_n^T + (r h) r_n^T), or with `linear_before_reset` g(x w_n^T + r (h r_n^T)). f, g are sigmoid, tanh."""
        y, h = self._recurrence("gru", 2, x, w, r, linear_before_reset=linear_before_reset, **options)
        return y, h

    def lstm(self, x: Operand, w: Operand, r: Operand, *, peepholes: Optional[Operand] = None,
             input_forget: bool = False, **options: Any) -> tuple[Value, Value, Value]:
        """(y, h, c) of gates i, o, f, n, in this order, as rnn(): c' = f c + i n, h' = o k(c') with i, o, f =
        f(x w^T + h r^T + p c), where o sees c', and n = g(x w_n^T + h r_n^T). f, g, k are sigmoid, tanh, tanh.

        peepholes: p, [3 * H], of the gates i, o, f.
        input_forget: the forget gate is 1 - i."""
        y, h, c = self._recurrence("lstm", 3, x, w, r, peepholes=peepholes, input_forget=input_forget, **options)
        return y, h, c

    def sort(self, x: Operand, axis: SupportsIndex = -1, descending: bool = False) -> tuple[Value, Value]:
        """(values, indices) along an axis. NaN is above all numbers; equal elements keep their order."""
        values, indices = self._several("tailor_graph_sort", 2, *self._values(x), i64(axis, "axis"),
                                        int(bool(descending)))
        return values, indices

    def argsort(self, x: Operand, axis: SupportsIndex = -1, descending: bool = False) -> Value:
        """The original index of each element of sort()."""
        return self.sort(x, axis, descending)[1]

    def top_k(self, x: Operand, k: DimLike, axis: SupportsIndex = -1, largest: bool = True) -> tuple[Value, Value]:
        """(values, indices) of the k largest elements along an axis, descending, or of the smallest, ascending."""
        values, indices = self._several("tailor_graph_top_k", 2, *self._values(x), self._dim(k, "k"), i64(axis, "axis"),
                                        int(bool(largest)))
        return values, indices

    def compact(self, x: Operand, mask: Operand) -> Value:
        """The rows of x [N, ...] that mask, bool[N], keeps: [M, ...], M being a new symbol."""
        return self._append("tailor_graph_compact", *self._values(x, mask))

    def nonzero(self, x: Operand) -> Value:
        """The indices of the elements that are not 0, in row-major order: i64[rank, M], M being a new symbol."""
        return self._append("tailor_graph_nonzero", *self._values(x))

    def unique(self, x: Operand, axis: Optional[SupportsIndex] = None,
               sorted: bool = True) -> tuple[Value, Value, Value, Value]:
        """(values, indices, inverse, counts) of the elements, or the slices along an axis, without repeats: U of them,
        a new symbol; ascending, or in the order in which they occur.

        indices: i64[U], where each occurs first. inverse: i64[N], the place among the values of each element or slice
        of x. counts: i64[U]."""
        along = None if axis is None else byref(c_int64(i64(axis, "axis")))
        values, indices, inverse, counts = self._several("tailor_graph_unique", 4, *self._values(x), along,
                                                         int(bool(sorted)))
        return values, indices, inverse, counts

    def _recurrence(self, name: str, results: int, x: Operand, w: Operand, r: Operand, *,
                    bias: Optional[Operand] = None, recurrent_bias: Optional[Operand] = None,
                    initial_h: Optional[Operand] = None, initial_c: Optional[Operand] = None,
                    lengths: Optional[Operand] = None, peepholes: Optional[Operand] = None, reverse: bool = False,
                    clip: float = math.inf, activations: Sequence[Any] = (), linear_before_reset: bool = False,
                    input_forget: bool = False) -> tuple[Value, ...]:
        given: list[Sequence[Any]] = [(f, None, None) if isinstance(f, str) else f for f in activations]
        count = len(given)
        alphas, betas = ([float(math.nan if f[i] is None else f[i]) for f in given] for i in (1, 2))
        options = _library.RecurrenceOptions(
            ctypes.sizeof(_library.RecurrenceOptions),
            *map(self._optional, (bias, recurrent_bias, initial_h, initial_c, lengths, peepholes)),
            reverse, linear_before_reset, input_forget, 0, clip, (c_char_p * count)(*(f[0].encode() for f in given)),
            (c_double * count)(*alphas), (c_double * count)(*betas), count)
        return self._several(f"tailor_graph_{name}", results, *self._values(x, w, r), byref(options))

    def _several(self, function: str, count: int, *arguments: Any) -> tuple[Value, ...]:
        """The results of a function that returns several values."""
        handles = [c_uint64() for _ in range(count)]
        check(getattr(self._library, function)(self._handle, *arguments, *map(byref, handles)))
        return tuple(self._value(handle.value) for handle in handles)
