"""Attention of com.microsoft: one compilation with symbolic dims, compared with onnxruntime at several shapes."""
import itertools
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tailor
import tailor.onnx

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
HEADS, SIZE = 4, 16  # heads of queries and their size
WIDTH = HEADS * SIZE


def model(op, operands, outputs, **attributes):
    """operands: (name, type, dims), or None for one that is left out."""
    names = [operand[0] if operand else "" for operand in operands]
    node = helper.make_node(op, names, outputs, "attention", domain="com.microsoft", **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(*operand) for operand in operands if operand],
                              [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs if name])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                 helper.make_opsetid("com.microsoft", 1)])


class ContribTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def floats(self, *shape):
        return self.random.standard_normal(shape, np.float32)

    def operand(self, name, kind, dims, sizes):
        shape = [sizes.get(dim, dim) for dim in dims]
        return np.asarray(self.floats(*shape), helper.tensor_dtype_to_np_dtype(kind))

    def check(self, op, operands, outputs, cases, arrays=lambda sizes: {}, compared=lambda sizes, outputs: outputs,
              reference=None, **attributes):
        """cases: sizes of symbols. `arrays`: operands that are not random. `compared`: what onnxruntime defines."""
        proto = model(op, operands, outputs, **attributes)
        executable = tailor.onnx.load(proto).compile("host")
        if reference is None:
            session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            reference = lambda given: session.run(None, given)
        for sizes in cases:
            with self.subTest(op=op, sizes=sizes, **attributes):
                given = arrays(sizes)
                given = {operand[0]: given[operand[0]] if operand[0] in given else self.operand(*operand, sizes)
                         for operand in operands if operand}
                results = compared(sizes, executable.run(**given)), compared(sizes, reference(given))
                for got, wanted in zip(*results, strict=True):
                    self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
                    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


class MaskTest(ContribTest):
    """Masks and biases of Attention and MultiHeadAttention."""
    CASES = ({"b": 2, "s": 3, "p": 4, "t": 7}, {"b": 1, "s": 1, "p": 9, "t": 10}, {"b": 3, "s": 5, "p": 0, "t": 5})

    def masks(self, name):
        def bits(*dims):
            def array(sizes):
                return (self.random.random([sizes[dim] for dim in dims]) < 0.7).astype(np.int32)
            return (name, INT32, dims), array

        def lengths(sizes):
            return self.random.integers(1, sizes["t"] + 1, sizes["b"]).astype(np.int32)

        yield None, None
        yield (name, INT32, ["b"]), lengths
        yield bits("b", "t")
        yield bits("b", "s", "t")


class AttentionTest(MaskTest):
    PROJECTED = [("x", FLOAT, ["b", "s", 5]), ("w", FLOAT, [5, 3 * WIDTH]), ("bias", FLOAT, [3 * WIDTH])]
    PAST = ("past", FLOAT, [2, "b", HEADS, "p", SIZE])

    def test_every_mask(self):
        for (mask, array), causal in itertools.product(self.masks("mask"), (0, 1)):
            arrays = (lambda sizes: {"mask": array(sizes)}) if mask else lambda sizes: {}
            self.check("Attention", [*self.PROJECTED, mask, self.PAST], ["y", "present"], self.CASES, arrays,
                       num_heads=HEADS, unidirectional=causal)

    def test_without_a_past(self):
        for outputs, causal in itertools.product((["y"], ["y", "present"]), (0, 1)):
            self.check("Attention", self.PROJECTED, outputs, self.CASES, num_heads=HEADS, unidirectional=causal)

    def test_ends_and_starts(self):
        def arrays(sizes):
            starts = self.random.integers(0, sizes["s"], sizes["b"])
            ends = self.random.integers(starts + 1, sizes["s"] + 1)
            return {"mask": np.concatenate([ends, starts]).astype(np.int32)}

        for batch in (1, 3):
            operands = [("x", FLOAT, [batch, "s", 5]), *self.PROJECTED[1:], ("mask", INT32, [2 * batch])]
            self.check("Attention", operands, ["y"], [{"b": batch, "s": s} for s in (1, 6)], arrays, num_heads=HEADS)

    def test_biases_and_scales(self):
        """onnxruntime takes no bias beside a past."""
        for dims, attributes in ((["b", HEADS, "s", "s"], {"scale": 0.3}), ([1, 1, "s", "s"], {"unidirectional": 1})):
            self.check("Attention", [*self.PROJECTED, None, None, ("added", FLOAT, dims)], ["y", "present"],
                       self.CASES, num_heads=HEADS, **attributes)
        self.check("Attention", [*self.PROJECTED, None, self.PAST], ["y", "present"], self.CASES, num_heads=HEADS,
                   scale=0.3)

    def test_sizes_of_values(self):
        operands = [("x", FLOAT, ["b", "s", 5]), ("w", FLOAT, [5, 2 * WIDTH + 12]), ("bias", FLOAT, [2 * WIDTH + 12])]
        self.check("Attention", operands, ["y"], self.CASES, num_heads=HEADS, qkv_hidden_sizes=[WIDTH, WIDTH, 12])

    def test_errors_name_the_node(self):
        for kind, text, attributes in (
                (tailor.onnx.ModelError, "num_heads is 0", {"num_heads": 0}),
                (tailor.onnx.ModelError, "a hidden size is 30", {"num_heads": 4, "qkv_hidden_sizes": [30, 30, 36]}),
                (tailor.onnx.ModelError, "columns of the weights", {"num_heads": 4, "qkv_hidden_sizes": [4, 4, 4]}),
                (tailor.onnx.Unsupported, "do_rotary", {"num_heads": 4, "do_rotary": 1}),
                (tailor.onnx.Unsupported, "past_present_share_buffer",
                 {"num_heads": 4, "past_present_share_buffer": 1})):
            with self.assertRaisesRegex(kind, f'Attention node "attention".*{text}'):
                tailor.onnx.load(model("Attention", self.PROJECTED, ["y"], **attributes))


class MultiHeadAttentionTest(MaskTest):
    QUERY, KEY, VALUE = (("q", FLOAT, ["b", "s", WIDTH]), ("k", FLOAT, ["b", "n", WIDTH]),
                         ("v", FLOAT, ["b", "n", HEADS * 3]))
    BIAS = ("bias", FLOAT, [2 * WIDTH + HEADS * 3])
    CROSS = [{**case, "n": case["t"]} for case in MaskTest.CASES]

    def test_every_mask(self):
        for (mask, array), causal in itertools.product(self.masks("mask"), (0, 1)):
            arrays = (lambda sizes: {"mask": array(sizes)}) if mask else lambda sizes: {}
            keys, values = ("k", FLOAT, ["b", "t", WIDTH]), ("v", FLOAT, ["b", "t", HEADS * 3])
            query = ("q", FLOAT, ["b", "t" if causal else "s", WIDTH])
            if causal and mask and len(mask[2]) == 3:
                continue
            self.check("MultiHeadAttention", [query, keys, values, self.BIAS, mask], ["y"], self.CASES, arrays,
                       num_heads=HEADS, unidirectional=causal)

    def test_past_and_present(self):
        operands = [self.QUERY, ("k", FLOAT, ["b", "s", WIDTH]), ("v", FLOAT, ["b", "s", WIDTH])]
        past = [(name, FLOAT, ["b", HEADS, "p", SIZE]) for name in ("pk", "pv")]
        bias = ("added", FLOAT, ["b", 1, "s", "t"])
        for causal, (mask, array) in zip((0, 1, 1, 0), self.masks("mask"), strict=True):
            arrays = (lambda sizes: {"mask": array(sizes)}) if mask else lambda sizes: {}
            self.check("MultiHeadAttention", [*operands, None, mask, bias, *past], ["y", "present_k", "present_v"],
                       self.CASES, arrays, num_heads=HEADS, unidirectional=causal, scale=0.4)

    def test_present_without_past(self):
        self.check("MultiHeadAttention", [self.QUERY, self.KEY, self.VALUE], ["y", "present_k", "present_v"],
                   self.CROSS, num_heads=HEADS)

    def test_keys_and_values_in_heads(self):
        operands = [self.QUERY, *((name, FLOAT, ["b", HEADS, "n", SIZE]) for name in "kv")]
        self.check("MultiHeadAttention", operands, ["y"], self.CROSS, num_heads=HEADS)
        self.check("MultiHeadAttention", [*operands, ("bias", FLOAT, [3 * WIDTH])], ["y"], self.CROSS,
                   num_heads=HEADS)

    def test_scores(self):
        operands = [("q", FLOAT, ["b", "n", WIDTH]), self.KEY, self.VALUE, None, ("mask", INT32, ["b", "n"])]
        self.check("MultiHeadAttention", operands, ["y", "", "", "qk"], self.CROSS,
                   lambda sizes: {"mask": np.arange(sizes["b"] * sizes["n"], dtype=np.int32)
                                  .reshape(sizes["b"], sizes["n"]) % 3}, num_heads=HEADS, unidirectional=1)

    def test_packed_operands(self):
        """onnxruntime has them for GPUs only."""
        separate = model("MultiHeadAttention", [self.QUERY, self.KEY, ("v", FLOAT, ["b", "n", WIDTH]),
                                                ("bias", FLOAT, [3 * WIDTH])], ["y"], num_heads=HEADS)
        session = onnxruntime.InferenceSession(separate.SerializeToString(), providers=["CPUExecutionProvider"])

        def reference(given):
            names = [name for name in "qkv" if name in given]
            parts = [part for name in names for part in (np.moveaxis(given[name], 3, 0) if given[name].ndim == 5
                                                         else [given[name]])]
            parts = [part.reshape(*part.shape[:2], WIDTH) for part in parts]
            return session.run(None, {**dict(zip("qkv", parts, strict=True)), "bias": given["bias"]})

        bias = ("bias", FLOAT, [3 * WIDTH])
        self.check("MultiHeadAttention", [("q", FLOAT, ["b", "s", HEADS, 3, SIZE]), None, None, bias], ["y"],
                   self.CASES, reference=reference, num_heads=HEADS)
        self.check("MultiHeadAttention", [self.QUERY, ("k", FLOAT, ["b", "n", HEADS, 2, SIZE]), None, bias], ["y"],
                   self.CROSS, reference=reference, num_heads=HEADS)

    def test_operands_that_do_not_fit(self):
        for operands, text in (
                ([self.QUERY], "packed operands is 0"),
                ([self.QUERY, self.KEY], "packed operands is 0"),
                ([self.QUERY, None, self.VALUE], "no keys"),
                ([self.QUERY, self.KEY, self.VALUE, ("bias", FLOAT, [3 * WIDTH])], "size of the bias"),
                ([self.QUERY, self.KEY, self.VALUE, None, None, None, ("pk", FLOAT, ["b", HEADS, "p", SIZE])],
                 "come together")):
            with self.assertRaisesRegex(tailor.onnx.ModelError, f'MultiHeadAttention node "attention".*{text}'):
                tailor.onnx.load(model("MultiHeadAttention", operands, ["y"], num_heads=HEADS))


class GroupQueryAttentionTest(ContribTest):
    KEYS = 2  # heads of keys
    SEPARATE = [("q", FLOAT, ["b", "s", WIDTH]), ("k", FLOAT, ["b", "s", KEYS * SIZE]),
                ("v", FLOAT, ["b", "s", KEYS * SIZE])]
    PACKED = [("q", FLOAT, ["b", "s", WIDTH + 2 * KEYS * SIZE]), None, None]
    PAST = [("pk", FLOAT, ["b", KEYS, "p", SIZE]), ("pv", FLOAT, ["b", KEYS, "p", SIZE])]
    LENGTHS = [("lengths", INT32, ["b"]), ("total", INT32, [])]
    CACHES = [("cos", FLOAT, [64, SIZE // 2]), ("sin", FLOAT, [64, SIZE // 2])]
    OUTPUTS = ["y", "present_k", "present_v"]
    # A prompt, tokens after it, a part of a prompt after another one.
    CASES = ({"b": 2, "s": 6, "p": 0}, {"b": 3, "s": 1, "p": 7}, {"b": 1, "s": 1, "p": 20}, {"b": 1, "s": 4, "p": 5})

    def lengths(self, sizes):
        total = sizes["p"] + sizes["s"]
        return {"lengths": np.full(sizes["b"], total - 1, np.int32), "total": np.array(total, np.int32)}

    def check_case(self, operands, outputs=OUTPUTS, cases=CASES, **attributes):
        cases = [{**case, "t": case["p"] + case["s"]} for case in cases]
        self.check("GroupQueryAttention", operands, outputs, cases, self.lengths,
                   **{"num_heads": HEADS, "kv_num_heads": self.KEYS, **attributes})

    def test_separate_and_packed(self):
        for operands in (self.SEPARATE, self.PACKED):
            self.check_case([*operands, *self.PAST, *self.LENGTHS])

    def test_without_a_cache(self):
        for operands in (self.SEPARATE, self.PACKED):
            self.check_case([*operands, None, None, *self.LENGTHS], cases=self.CASES[:1])

    def test_one_batch(self):
        operands = [(name, kind, [1 if dim == "b" else dim for dim in dims])
                    for name, kind, dims in [*self.SEPARATE, *self.PAST, *self.LENGTHS, *self.CACHES]]
        self.check_case(operands, cases=self.CASES[2:], do_rotary=1)

    def test_rotary_embeddings(self):
        for operands, interleaved in itertools.product((self.SEPARATE, self.PACKED), (0, 1)):
            self.check_case([*operands, *self.PAST, *self.LENGTHS, *self.CACHES], do_rotary=1,
                            rotary_interleaved=interleaved)

    def test_scores(self):
        for attributes in ({"scale": 0.3, "softcap": 2.0}, {"local_window_size": 3}, {"smooth_softmax": 1},
                           {"causal": 0}):
            self.check_case([*self.SEPARATE, *self.PAST, *self.LENGTHS], **attributes)

    def test_bias_and_sink(self):
        operands = [*self.SEPARATE, *self.PAST, *self.LENGTHS, None, None, None]
        self.check_case([*operands, ("bias", FLOAT, ["b", HEADS, "s", "t"])], softcap=3.0)
        self.check_case([*operands, ("bias", FLOAT, [1, 1, "s", "t"])])
        self.check_case([*operands, None, ("sink", FLOAT, [HEADS])])

    def test_batches_of_different_lengths(self):
        """Rows of the present that a batch does not have yet are nobody's."""
        lengths = np.array([7, 4, 0], np.int32)

        def arrays(sizes):
            return {"lengths": lengths, "total": np.array(8, np.int32)}

        def compared(sizes, outputs):
            return [outputs[0], *(x[b, :, :length + 1] for x in outputs[1:] for b, length in enumerate(lengths))]

        for attributes in ({}, {"do_rotary": 1}, {"local_window_size": 2}):
            self.check("GroupQueryAttention", [*self.SEPARATE, *self.PAST, *self.LENGTHS, *self.CACHES], self.OUTPUTS,
                       [{"b": 3, "s": 1, "p": 7}], arrays, compared, num_heads=HEADS, kv_num_heads=self.KEYS,
                       **attributes)

    def test_prompts_that_end_with_padding(self):
        lengths = np.array([4, 2], np.int32)

        def compared(sizes, outputs):
            return [x[b, :, :length + 1] if x.ndim == 4 else x[b, :length + 1]
                    for x in outputs for b, length in enumerate(lengths)]

        self.check("GroupQueryAttention", [*self.SEPARATE, *self.PAST, *self.LENGTHS, *self.CACHES], self.OUTPUTS,
                   [{"b": 2, "s": 5, "p": 0}], lambda sizes: {"lengths": lengths, "total": np.array(5, np.int32)},
                   compared, num_heads=HEADS, kv_num_heads=self.KEYS, do_rotary=1)

    def test_shared_buffers_are_refused(self):
        operands = [*self.SEPARATE, *self.PAST, *self.LENGTHS]
        executable = tailor.onnx.load(model("GroupQueryAttention", operands, self.OUTPUTS, num_heads=HEADS,
                                            kv_num_heads=self.KEYS)).compile("host")
        sizes = {"b": 1, "s": 1, "p": 16}
        arrays = {name: self.operand(name, kind, dims, sizes) for name, kind, dims in operands}
        arrays.update(lengths=np.array([4], np.int32), total=np.array(5, np.int32))
        with self.assertRaises(tailor.Error):
            executable.run(**arrays)

    def exported(self, past, total):
        """As exporters write it: lengths and the total length come from an attention mask [b, t]."""
        node = helper.make_node
        operands = [*self.SEPARATE, *[(name, FLOAT, ["b", self.KEYS, past, SIZE]) for name in ("pk", "pv")],
                    ("mask", INT64, ["b", total]), *self.CACHES]
        nodes = [node("ReduceSum", ["mask", "one"], ["counts"], keepdims=0), node("Sub", ["counts", "one"], ["last"]),
                 node("Cast", ["last"], ["lengths"], to=INT32), node("Shape", ["mask"], ["shape"]),
                 node("Gather", ["shape", "one"], ["columns"]), node("Cast", ["columns"], ["total"], to=INT32),
                 node("GroupQueryAttention", [*"q k v pk pv lengths total cos sin".split()], self.OUTPUTS, "attention",
                      domain="com.microsoft", num_heads=HEADS, kv_num_heads=self.KEYS, do_rotary=1)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*operand) for operand in operands],
                                  [helper.make_tensor_value_info(name, FLOAT, None) for name in self.OUTPUTS],
                                  [numpy_helper.from_array(np.array([1], np.int64), "one")])
        proto = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                      helper.make_opsetid("com.microsoft", 1)])
        return proto, operands

    def test_lengths_from_a_mask(self):
        proto, operands = self.exported("p", "t")
        loaded = tailor.onnx.load(proto)
        self.assertNotIn("bind", loaded.text)
        executable = loaded.compile("host")
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        for sizes in self.CASES:
            sizes = {**sizes, "t": sizes["p"] + sizes["s"]}
            given = {name: self.operand(name, kind, dims, sizes) for name, kind, dims in operands}
            given["mask"] = np.ones((sizes["b"], sizes["t"]), np.int64)
            with self.subTest(sizes=sizes):
                for got, wanted in zip(executable.run(**given), session.run(None, given), strict=True):
                    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
        given["mask"] = np.ones((1, sizes["p"]), np.int64)
        with self.assertRaises(tailor.Error):
            executable.run(**given)
        with self.assertRaisesRegex(tailor.onnx.Unsupported, 'GroupQueryAttention node "attention".*shared buffer'):
            tailor.onnx.load(self.exported("t", "t")[0])

    def test_variants_are_refused(self):
        operands = [*self.SEPARATE, *self.PAST, *self.LENGTHS]
        for text, attributes in (("sliding_window_cache", {"sliding_window_cache": 1, "local_window_size": 4}),
                                 ("quantized", {"k_quant_type": "PER_TENSOR"})):
            with self.assertRaisesRegex(tailor.onnx.Unsupported, f'GroupQueryAttention node "attention".*{text}'):
                tailor.onnx.load(model("GroupQueryAttention", operands, self.OUTPUTS, num_heads=HEADS,
                                       kv_num_heads=self.KEYS, **attributes))


class RotaryEmbeddingTest(ContribTest):
    CASES = ({"b": 2, "s": 5}, {"b": 3, "s": 1})

    def check_case(self, x, half, cases=CASES, **attributes):
        caches = [(name, FLOAT, [32, half]) for name in ("cos", "sin")]
        self.check("RotaryEmbedding", [x, ("positions", INT64, ["b", "s"]), *caches], ["y"], cases,
                   lambda sizes: {"positions": self.random.integers(0, 32, (sizes["b"], sizes["s"]))}, **attributes)
        self.check("RotaryEmbedding", [x, ("first", INT64, [1]), *caches], ["y"], cases,
                   lambda sizes: {"first": np.array([4])}, **attributes)

    def test_whole_heads(self):
        for interleaved in (0, 1):
            self.check_case(("x", FLOAT, ["b", "s", WIDTH]), SIZE // 2, interleaved=interleaved)
            self.check_case(("x", FLOAT, ["b", HEADS, "s", SIZE]), SIZE // 2, interleaved=interleaved)

    def test_parts_of_heads(self):
        for interleaved in (0, 1):
            self.check_case(("x", FLOAT, ["b", "s", WIDTH]), 2, num_heads=HEADS, rotary_embedding_dim=4,
                            interleaved=interleaved)
            self.check_case(("x", FLOAT, ["b", HEADS, "s", SIZE]), 2, num_heads=HEADS, rotary_embedding_dim=4,
                            interleaved=interleaved)


if __name__ == "__main__":
    unittest.main()
