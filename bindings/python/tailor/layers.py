"""Methods of Graph that append loops: recurrent layers, sorting, and selection of elements."""
import ctypes
import math
from ctypes import byref, c_char_p, c_double, c_int64, c_uint64

from . import _library
from ._convert import i64
from ._library import check


class Layers:
    """A base of Graph."""

    def rnn(self, x, w, r, **options):
        """(y, h) of h' = f(x w^T + h r^T) over the steps of x [T, B, I]: y [T, B, H] has the state after each step, h
        [B, H] is the last one. w is [G * H, I] and r [G * H, H]: G blocks of rows, one per gate; here G = 1. f is tanh.

        bias, recurrent_bias: [G * H], added to x w^T and to h r^T.
        initial_h, initial_c: [B, H]; None: zeros. Only lstm has a c.
        lengths: i32 or i64 [B]; what lies beyond keeps the state and gives 0.
        reverse: from the last step to the first.
        clip: what the gates' functions get is within [-clip, clip].
        activations: names, or (name, alpha, beta), of f, g, k; see tailor_recurrence_options in tailor/compiler.h."""
        return self._recurrence("rnn", 2, x, w, r, **options)

    def gru(self, x, w, r, *, linear_before_reset=False, **options):
        """(y, h) of gates z, r, n, in this order, as rnn(): h' = (1 - z) n + z h with z, r = f(x w^T + h r^T) and
        n = g(x w_n^T + (r h) r_n^T), or with `linear_before_reset` g(x w_n^T + r (h r_n^T)). f, g are sigmoid, tanh."""
        return self._recurrence("gru", 2, x, w, r, linear_before_reset=linear_before_reset, **options)

    def lstm(self, x, w, r, *, peepholes=None, input_forget=False, **options):
        """(y, h, c) of gates i, o, f, n, in this order, as rnn(): c' = f c + i n, h' = o k(c') with i, o, f =
        f(x w^T + h r^T + p c), where o sees c', and n = g(x w_n^T + h r_n^T). f, g, k are sigmoid, tanh, tanh.

        peepholes: p, [3 * H], of the gates i, o, f.
        input_forget: the forget gate is 1 - i."""
        return self._recurrence("lstm", 3, x, w, r, peepholes=peepholes, input_forget=input_forget, **options)

    def sort(self, x, axis=-1, descending=False):
        """(values, indices) along an axis. NaN is above all numbers; equal elements keep their order."""
        return self._several("tailor_graph_sort", 2, *self._values(x), i64(axis, "axis"), int(bool(descending)))

    def argsort(self, x, axis=-1, descending=False):
        """The original index of each element of sort()."""
        return self.sort(x, axis, descending)[1]

    def top_k(self, x, k, axis=-1, largest=True):
        """(values, indices) of the k largest elements along an axis, descending, or of the smallest, ascending."""
        return self._several("tailor_graph_top_k", 2, *self._values(x), self._dim(k, "k"), i64(axis, "axis"),
                             int(bool(largest)))

    def compact(self, x, mask):
        """The rows of x [N, ...] that mask, bool[N], keeps: [M, ...], M being a new symbol."""
        return self._append("tailor_graph_compact", *self._values(x, mask))

    def nonzero(self, x):
        """The indices of the elements that are not 0, in row-major order: i64[rank, M], M being a new symbol."""
        return self._append("tailor_graph_nonzero", *self._values(x))

    def unique(self, x, axis=None, sorted=True):
        """(values, indices, inverse, counts) of the elements, or the slices along an axis, without repeats: U of them,
        a new symbol; ascending, or in the order in which they occur.

        indices: i64[U], where each occurs first. inverse: i64[N], the place among the values of each element or slice
        of x. counts: i64[U]."""
        along = None if axis is None else byref(c_int64(i64(axis, "axis")))
        return self._several("tailor_graph_unique", 4, *self._values(x), along, int(bool(sorted)))

    def _recurrence(self, name, results, x, w, r, *, bias=None, recurrent_bias=None, initial_h=None, initial_c=None,
                    lengths=None, peepholes=None, reverse=False, clip=math.inf, activations=(),
                    linear_before_reset=False, input_forget=False):
        given = [(f, None, None) if isinstance(f, str) else f for f in activations]
        count = len(given)
        alphas, betas = ([math.nan if f[i] is None else f[i] for f in given] for i in (1, 2))
        options = _library.RecurrenceOptions(
            ctypes.sizeof(_library.RecurrenceOptions),
            *map(self._optional, (bias, recurrent_bias, initial_h, initial_c, lengths, peepholes)),
            reverse, linear_before_reset, input_forget, 0, clip, (c_char_p * count)(*(f[0].encode() for f in given)),
            (c_double * count)(*alphas), (c_double * count)(*betas), count)
        return self._several(f"tailor_graph_{name}", results, *self._values(x, w, r), byref(options))

    def _several(self, function, count, *arguments):
        """The results of a function that returns several values."""
        handles = [c_uint64() for _ in range(count)]
        check(getattr(self._library, function)(self._handle, *arguments, *map(byref, handles)))
        return tuple(self._value(handle.value) for handle in handles)
