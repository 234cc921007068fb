"""Classical models of scikit-learn and XGBoost as their converters write them, fitted to random data, with manifest.json.

    python classical.py [--list] [--out FOLDER] [NAME...]

Needs the environment of requirements-classical.txt."""
import argparse
import pathlib
import sys
import warnings

import numpy
import onnx
import onnxmltools
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as XgbFloats
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
from sklearn import (calibration, cluster, compose, decomposition, discriminant_analysis, ensemble, gaussian_process, impute,
                     linear_model, mixture, multiclass, naive_bayes, neighbors, neural_network, pipeline,
                     preprocessing, svm, tree)

import manifest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEATURES, CLASSES, SAMPLES, OPSET = 6, 3, 200, 17
SHAPES = [{"rows": rows} for rows in (1, 2, 7, 33, 256)]


def data(classes):
    """Features, and labels or (for 0 classes) targets that depend on them; features are what check.py draws."""
    rng = numpy.random.default_rng(0)
    x = rng.standard_normal((SAMPLES, FEATURES)).astype(numpy.float32)
    y = x @ rng.standard_normal((FEATURES, max(classes, 1))) + x[:, :1] * x[:, 1:2]
    return (x, y.argmax(1)) if classes > 1 else (x, y[:, 0].astype(numpy.float32))


def with_scaler(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


def columns():
    """One-hot codes beside scaled numbers."""
    return pipeline.make_pipeline(
        compose.ColumnTransformer([("numbers", preprocessing.StandardScaler(), [0, 1, 2, 3]),
                                   ("codes", preprocessing.OneHotEncoder(handle_unknown="ignore"), [4, 5])]),
        linear_model.LogisticRegression())


SEED = {"random_state": 0}
SMALL = {"n_estimators": 10, "max_depth": 4, **SEED}

# name: (model, number of classes; 0: a regression, 1: no targets)
SCIKIT = {
    "logistic": (lambda: with_scaler(linear_model.LogisticRegression()), 3),
    "logistic_binary": (lambda: with_scaler(linear_model.LogisticRegression()), 2),
    "sgd": (lambda: with_scaler(linear_model.SGDClassifier(loss="log_loss", **SEED)), 3),
    "ridge": (lambda: with_scaler(linear_model.Ridge()), 0),
    "poisson": (lambda: pipeline.make_pipeline(preprocessing.MinMaxScaler(), linear_model.PoissonRegressor()), 0),
    "decision_tree": (lambda: tree.DecisionTreeClassifier(max_depth=5, **SEED), 3),
    "decision_tree_regressor": (lambda: tree.DecisionTreeRegressor(max_depth=5, **SEED), 0),
    "random_forest": (lambda: ensemble.RandomForestClassifier(**SMALL), 3),
    "random_forest_regressor": (lambda: ensemble.RandomForestRegressor(**SMALL), 0),
    "extra_trees": (lambda: ensemble.ExtraTreesClassifier(**SMALL), 2),
    "gradient_boosting": (lambda: ensemble.GradientBoostingClassifier(**SMALL), 3),
    "gradient_boosting_binary": (lambda: ensemble.GradientBoostingClassifier(**SMALL), 2),
    "gradient_boosting_regressor": (lambda: ensemble.GradientBoostingRegressor(**SMALL), 0),
    "ada_boost": (lambda: ensemble.AdaBoostClassifier(n_estimators=5, **SEED), 3),
    "bagging": (lambda: ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), 5, **SEED), 3),
    "voting": (lambda: ensemble.VotingClassifier([("tree", tree.DecisionTreeClassifier(max_depth=3, **SEED)),
                                                  ("logistic", linear_model.LogisticRegression())], voting="soft",
                                                 flatten_transform=False), 3),
    "stacking": (lambda: ensemble.StackingRegressor([("tree", tree.DecisionTreeRegressor(max_depth=3, **SEED)),
                                                     ("ridge", linear_model.Ridge())]), 0),
    "isolation_forest": (lambda: ensemble.IsolationForest(n_estimators=10, **SEED), 1),
    "local_outliers": (lambda: neighbors.LocalOutlierFactor(n_neighbors=5, novelty=True), 1),
    "one_class_svm": (lambda: svm.OneClassSVM(), 1),
    "svc": (lambda: with_scaler(svm.SVC(probability=True, **SEED)), 3),
    "svc_binary": (lambda: with_scaler(svm.SVC(kernel="poly", **SEED)), 2),
    "nu_svc": (lambda: svm.NuSVC(kernel="sigmoid", nu=0.3, **SEED), 3),
    "svr": (lambda: with_scaler(svm.SVR()), 0),
    "linear_svc": (lambda: svm.LinearSVC(**SEED), 3),
    "calibrated": (lambda: calibration.CalibratedClassifierCV(svm.LinearSVC(**SEED), cv=2), 3),
    "one_vs_rest": (lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), 3),
    "mlp": (lambda: with_scaler(neural_network.MLPClassifier((16, 8), max_iter=50, **SEED)), 3),
    "mlp_regressor": (lambda: with_scaler(neural_network.MLPRegressor(hidden_layer_sizes=(16,), activation="tanh",
                                                                    max_iter=50, **SEED)), 0),
    "nearest": (lambda: neighbors.KNeighborsClassifier(3), 3),
    "nearest_regressor": (lambda: neighbors.KNeighborsRegressor(3, weights="distance"), 0),
    "naive_bayes": (lambda: naive_bayes.GaussianNB(), 3),
    "discriminant": (lambda: discriminant_analysis.QuadraticDiscriminantAnalysis(), 3),
    "gaussian_process": (lambda: gaussian_process.GaussianProcessRegressor(alpha=0.1), 0),
    "mixture": (lambda: mixture.GaussianMixture(3, **SEED), 1),
    "k_means": (lambda: with_scaler(cluster.KMeans(4, **SEED)), 1),
    "pca": (lambda: pipeline.make_pipeline(impute.SimpleImputer(), decomposition.PCA(3, **SEED), preprocessing.Normalizer()), 1),
    "polynomial": (lambda: pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.Ridge()), 0),
    "bins": (lambda: pipeline.make_pipeline(
        preprocessing.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
        linear_model.LogisticRegression()), 3),
    "power": (lambda: pipeline.make_pipeline(preprocessing.PowerTransformer(), linear_model.Ridge()), 0),
}

XGBOOST = {
    "xgb_classifier": (lambda: xgboost.XGBClassifier(n_estimators=10, max_depth=4), 3),
    "xgb_binary": (lambda: xgboost.XGBClassifier(n_estimators=10, max_depth=4), 2),
    "xgb_regressor": (lambda: xgboost.XGBRegressor(n_estimators=20, max_depth=4), 0),
    "xgb_poisson": (lambda: xgboost.XGBRegressor(n_estimators=10, max_depth=3, objective="count:poisson"), 0),
    "xgb_forest": (lambda: xgboost.XGBRFClassifier(n_estimators=10, max_depth=4), 2),
}


def fitted(name, build, classes):
    x, y = data(classes)
    if "poisson" in name:
        y = numpy.round(numpy.abs(y))
    return build().fit(x) if classes == 1 else build().fit(x, y)


def scikit(name):
    build, classes = SCIKIT[name]
    return skl2onnx.to_onnx(fitted(name, build, classes), initial_types=[("x", FloatTensorType([None, FEATURES]))],
                            target_opset={"": OPSET, "ai.onnx.ml": 3})


def scikit_columns(name):
    """The numbers as floats and the codes as integers: two inputs."""
    rng = numpy.random.default_rng(0)
    x, y = data(CLASSES)
    codes = rng.integers(0, 4, (SAMPLES, 2))
    model = columns().fit(numpy.concatenate([x[:, :4], codes], axis=1), (y + codes[:, 0]) % CLASSES)
    return skl2onnx.to_onnx(model, initial_types=[("numbers", FloatTensorType([None, 4])), ("codes", Int64TensorType([None, 2]))],
                            target_opset={"": OPSET, "ai.onnx.ml": 3})


def boosted(name):
    build, classes = XGBOOST[name]
    return onnxmltools.convert_xgboost(fitted(name, build, classes), initial_types=[("x", XgbFloats([None, FEATURES]))],
                                       target_opset=15)


MODELS = {**dict.fromkeys(SCIKIT, scikit), "columns": scikit_columns, **dict.fromkeys(XGBOOST, boosted)}


def inputs_of(proto):
    """As manifest.json has them: integers are codes below 5, of which the model knows 4."""
    entries = []
    for value in proto.graph.input:
        dims = ["rows", *(dim.dim_value for dim in value.type.tensor_type.shape.dim[1:])]
        floats = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        entries.append({"name": value.name, "dtype": "float32" if floats else "int64", "values": "normal" if floats else 5,
                        "dims": dims, "file_dims": [0, *dims[1:]]})
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names of the models")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "models" / "exported")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(MODELS))
        return 0
    if unknown := [name for name in arguments.names if name not in MODELS]:
        parser.error(f"no such model: {', '.join(unknown)}")
    warnings.filterwarnings("ignore")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or MODELS:
        proto = MODELS[name](name)
        path = arguments.out / f"classical_{name}.onnx"
        onnx.save(proto, path)
        manifest.add(arguments.out, path.name, {"width": "narrow", "unordered": False, "inputs": inputs_of(proto),
                                                "shapes": SHAPES})
        print(f"{path.name}: {path.stat().st_size} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
