"""Operators of ai.onnx.ml against onnxruntime, with a symbolic number of rows, at two numbers of rows."""
import unittest

import numpy
import onnxruntime
from onnx import TensorProto, helper

import tailor
import tailor.onnx

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
FEATURES, POSTS = 5, ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


class MachineLearningTest(unittest.TestCase):
    def setUp(self):
        self.random = numpy.random.default_rng(7)

    def check(self, op_type, results=(FLOAT,), rows=None, version=3, inputs=1, **attributes):
        """rows(count): the operands' elements, f32 [count, FEATURES] by default."""
        names = [f"x{i}" for i in range(inputs)]
        outputs = [f"y{i}" for i in range(len(results))]
        node = helper.make_node(op_type, names, outputs, domain="ai.onnx.ml", **attributes)
        rows = rows or (lambda count: self.random.integers(-2, 3, (count, FEATURES)).astype(numpy.float32))
        infos = [helper.make_tensor_value_info(name, FLOAT, ["n", FEATURES]) for name in names]
        graph = helper.make_graph([node], "ml", infos, [helper.make_tensor_value_info(name, kind, None)
                                                        for name, kind in zip(outputs, results)])
        proto = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17),
                                                                      helper.make_opsetid("ai.onnx.ml", version)])
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        executable = tailor.onnx.load(proto).compile("host")
        for count in (1, 17):
            given = {name: rows(count) for name in names}
            for got, wanted in zip(executable.run(**given), session.run(None, given), strict=True):
                self.assertEqual(got.dtype, wanted.dtype)
                numpy.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)

    def trees(self, prefix, targets, modes=("BRANCH_LEQ",), missing=False, trees=4, depth=3):
        """Attributes of random full trees; every leaf has a weight for each of `targets`."""
        inner, total = 2 ** depth - 1, 2 ** (depth + 1) - 1
        nodes = [(tree, i) for tree in range(trees) for i in range(total)]
        leaves = [(tree, i, target) for tree, i in nodes if i >= inner for target in targets]
        return {
            "nodes_treeids": [tree for tree, _ in nodes], "nodes_nodeids": [i for _, i in nodes],
            "nodes_featureids": self.random.integers(0, FEATURES, len(nodes)).tolist(),
            "nodes_modes": [str(self.random.choice(modes)) if i < inner else "LEAF" for _, i in nodes],
            "nodes_values": self.random.integers(-2, 3, len(nodes)).astype(float).tolist(),
            "nodes_truenodeids": [2 * i + 1 if i < inner else 0 for _, i in nodes],
            "nodes_falsenodeids": [2 * i + 2 if i < inner else 0 for _, i in nodes],
            "nodes_missing_value_tracks_true": [int(missing and self.random.random() < 0.5) for _ in nodes],
            f"{prefix}_treeids": [tree for tree, _, _ in leaves], f"{prefix}_nodeids": [i for _, i, _ in leaves],
            f"{prefix}_ids": [target for _, _, target in leaves],
            f"{prefix}_weights": self.random.standard_normal(len(leaves)).tolist(),
        }

    def with_nan(self, count):
        x = self.random.integers(-2, 3, (count, FEATURES)).astype(numpy.float32)
        x[self.random.random(x.shape) < 0.2] = numpy.nan
        return x

    def test_tree_regressor(self):
        for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
            with self.subTest(aggregate):
                self.check("TreeEnsembleRegressor", n_targets=3, aggregate_function=aggregate,
                           base_values=[0.5, -1.0, 2.0], **self.trees("target", range(3)))
        self.check("TreeEnsembleRegressor", n_targets=1, **self.trees("target", [0], MODES))
        self.check("TreeEnsembleRegressor", rows=self.with_nan, n_targets=2,
                   **self.trees("target", range(2), missing=True))
        self.check("TreeEnsembleRegressor", n_targets=1, **self.trees("target", [0], trees=1, depth=0))

    def test_tree_classifier(self):
        for post in POSTS:
            with self.subTest(post):
                self.check("TreeEnsembleClassifier", (INT64, FLOAT), classlabels_int64s=[30, 10, 20, 40],
                           post_transform=post, **self.trees("class", range(4)))
        self.check("TreeEnsembleClassifier", (INT64, FLOAT), classlabels_int64s=[3, 8], **self.trees("class", [1]))

    def test_linear_models(self):
        for post in POSTS:
            with self.subTest(post):
                self.check("LinearClassifier", (INT64, FLOAT), version=1, classlabels_ints=[3, 4, 9],
                           post_transform=post, coefficients=self.random.standard_normal(3 * FEATURES).tolist(),
                           intercepts=[0.1, 0.2, -0.3])
        self.check("LinearRegressor", version=1, targets=2, intercepts=[1.0, -1.0],
                   coefficients=self.random.standard_normal(2 * FEATURES).tolist())

    def test_support_vectors(self):
        vectors, rho = self.random.standard_normal((4, FEATURES)).ravel().tolist(), [0.25]
        for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
            with self.subTest(kernel):
                self.check("SVMRegressor", version=1, kernel_type=kernel, kernel_params=[0.5, 1.0, 2.0], n_supports=4,
                           support_vectors=vectors, coefficients=[0.5, -1.0, 0.25, 2.0], rho=rho)

    def test_probabilities_of_support_vectors(self):
        """Each pair of classes has a probability; those of more than two classes are coupled by iteration."""
        for classes in (2, 3, 5):
            for scale in (0.3, 3.0):  # probabilities near those of chance, and near 0 and 1
                with self.subTest(classes=classes, scale=scale):
                    pairs, vectors = classes * (classes - 1) // 2, 2 * classes
                    self.check("SVMClassifier", (INT64, FLOAT), version=1, kernel_type="RBF", kernel_params=[0.2, 0.0, 0.0],
                               classlabels_ints=list(range(10, 10 + classes)), vectors_per_class=[2] * classes,
                               support_vectors=self.random.standard_normal(vectors * FEATURES).tolist(),
                               coefficients=self.random.standard_normal((classes - 1) * vectors).tolist(),
                               rho=self.random.standard_normal(pairs).tolist(), prob_a=[-scale] * pairs, prob_b=[0.1] * pairs)

    def test_preprocessing(self):
        self.check("Scaler", version=1, offset=[1.0, 2.0, 3.0, 4.0, 5.0], scale=[0.5, 1.0, 2.0, 1.0, 0.25])
        for norm in ("MAX", "L1", "L2"):
            with self.subTest(norm):
                self.check("Normalizer", version=1, norm=norm, rows=lambda count: self.random.standard_normal(
                    (count, FEATURES)).astype(numpy.float32))
        self.check("Imputer", version=1, rows=self.with_nan, imputed_value_floats=[1.0, 2.0, 3.0, 4.0, 5.0],
                   replaced_value_float=float("nan"))
        self.check("FeatureVectorizer", version=1, inputs=2, inputdimensions=[FEATURES, FEATURES])
        self.check("OneHotEncoder", version=1, cats_int64s=[-2, -1, 0, 1, 2], zeros=1)
        self.check("LabelEncoder", version=2, keys_floats=[-1.0, 0.0, 2.0], values_floats=[10.0, 20.0, 30.0],
                   default_float=-5.0)
        self.check("Binarizer", version=1, threshold=0.5)

    def test_zip_map(self):
        """The scores stand for the maps: column i is that of label i."""
        labels = {"classlabels_int64s": [7, 3, 30, 1, 9], "classlabels_strings": ["b", "a", "d", "c", "e"]}
        for attribute, names in labels.items():
            proto = self.zip_map(["n", "features"], **{attribute: names})
            session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            executable = tailor.onnx.load(proto).compile("host")
            for count in (1, 17):
                x = self.random.standard_normal((count, FEATURES)).astype(numpy.float32)
                got, = executable.run(x0=x)
                wanted, = session.run(None, {"x0": x})
                self.assertEqual(wanted, [dict(zip(names, row)) for row in got.tolist()])
        with self.assertRaisesRegex(tailor.onnx.ModelError, "2 labels for 5 scores"):
            tailor.onnx.load(self.zip_map(["n", FEATURES], classlabels_int64s=[1, 2]))
        with self.assertRaisesRegex(tailor.onnx.ModelError, "one of classlabels_int64s and classlabels_strings"):
            tailor.onnx.load(self.zip_map(["n", FEATURES]))

    def zip_map(self, dims, **labels):
        node = helper.make_node("ZipMap", ["x0"], ["y0"], domain="ai.onnx.ml", **labels)
        key = TensorProto.STRING if "classlabels_strings" in labels else INT64
        maps = helper.make_sequence_type_proto(helper.make_map_type_proto(key, helper.make_tensor_type_proto(FLOAT, [])))
        graph = helper.make_graph([node], "zip", [helper.make_tensor_value_info("x0", FLOAT, dims)],
                                  [helper.make_value_info("y0", maps)])
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17),
                                                                      helper.make_opsetid("ai.onnx.ml", 3)])


if __name__ == "__main__":
    unittest.main()
