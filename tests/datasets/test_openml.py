"""OpenML, through scikit-learn, against a server that answers as OpenML does."""

import hashlib
import json

import numpy as np
import pytest

from fewknots.datasets import array_files, available, covertype, load, openml
from fewknots.datasets.catalogue import CATALOGUE
from fewknots.datasets.dataset import SourceError
from fewknots.exceptions import DatasetError

pytest.importorskip("pandas")

SITE = "https://www.openml.org"


def publish(net, title, version, columns, target):
    """A data set there: its description, its columns and its ARFF file.

    `columns` maps names to values: text is a category, None a missing one.
    """
    kinds = {
        name: "numeric" if all(isinstance(v, int | float) for v in values) else "nominal"
        for name, values in columns.items()
    }
    lines = [f"@RELATION {title}"]
    for name, values in columns.items():
        words = ",".join(sorted({f"'{v}'" for v in values if v is not None}))
        lines.append(f"@ATTRIBUTE {name} {'REAL' if kinds[name] == 'numeric' else f'{{{words}}}'}")
    lines.append("@DATA")
    for row in zip(*columns.values(), strict=True):
        fields = ["?" if v is None else f"'{v}'" if isinstance(v, str) else repr(v) for v in row]
        lines.append(",".join(fields))
    content = ("\n".join(lines) + "\n").encode()
    file = f"{SITE}/data/v1/download/1/{title}.arff"
    about = {
        "id": "1",
        "name": title,
        "version": str(version),
        "description": "as OpenML has it",
        "format": "ARFF",
        "url": file,
        "status": "active",
        "md5_checksum": hashlib.md5(content).hexdigest(),
    }
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": kinds[name],
            "is_target": "true" if name == target else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": str(columns[name].count(None)),
        }
        for i, name in enumerate(columns)
    ]
    rows = str(len(columns[target]))
    search = f"{SITE}/api/v1/json/data/list/data_name/{title}/limit/2/data_version/{version}"
    answers = {
        search: {"data": {"dataset": [{"did": 1, "name": title, "version": version}]}},
        f"{SITE}/api/v1/json/data/1": {"data_set_description": about},
        f"{SITE}/api/v1/json/data/features/1": {"data_features": {"feature": features}},
        f"{SITE}/api/v1/json/data/qualities/1": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": rows}]}
        },
    }
    net.answers |= {key: json.dumps(value).encode() for key, value in answers.items()}
    net.answers[file] = content
    return file


def hearts(n_rows=270, present=120):
    values = np.random.default_rng(0).normal(5.0, 2.0, size=(n_rows, 13))
    columns = {f"input_{i}": values[:, i].tolist() for i in range(13)}
    return values, columns | {"class": ["present"] * present + ["absent"] * (n_rows - present)}


def test_heart_arrives_scaled_and_split_and_is_kept(net):
    values, columns = hearts()
    publish(net, "heart-statlog", 1, columns, "class")
    assert available("heart") is None
    found = load("heart")
    expected = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    np.testing.assert_allclose(found.X, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.y, [1] * 120 + [0] * 150)
    assert [len(part) for part in found.splits[0]] == [170, 100]
    assert found.source.startswith("OpenML's heart-statlog, version 1, fetched 20")
    assert "0 of 10 splits are confirmed as published" in found.source

    asked = len(net.asked)
    assert available("heart") == "cache (ida_heart.npz)"
    again = load("heart")
    np.testing.assert_array_equal(again.X, found.X)
    assert again.source == found.source
    assert len(net.asked) == asked


def test_a_changed_file_in_the_cache_is_fetched_anew(net, tmp_path):
    publish(net, "heart-statlog", 1, hearts()[1], "class")
    found = load("heart")
    cached = tmp_path / "cache" / "ida_heart.npz"
    cached.write_bytes(cached.read_bytes()[:-1] + b"?")
    asked = len(net.asked)
    np.testing.assert_array_equal(load("heart").X, found.X)
    assert len(net.asked) > asked
    assert {p.name for p in cached.parent.iterdir()} == {"ida_heart.npz", "ida_heart.npz.json"}


def test_an_altered_file_is_not_believed(net, tmp_path):
    file = publish(net, "heart-statlog", 1, hearts()[1], "class")
    net.answers[file] = net.answers[file].replace(b"'absent'\n", b"'present'\n", 1)
    with pytest.raises(DatasetError, match="md5 checksum"):
        load("heart")
    assert not (tmp_path / "cache" / "ida_heart.npz").exists()


def test_a_file_that_breaks_off_is_not_believed(net):
    file = publish(net, "heart-statlog", 1, hearts()[1], "class")
    net.cut_short = [file] * 5
    with pytest.raises(DatasetError, match=r"download \(OpenML's heart-statlog, version 1\): "):
        load("heart")


def test_another_data_set_of_that_name_is_not_used(net):
    publish(net, "heart-statlog", 1, hearts(present=119)[1], "class")
    with pytest.raises(DatasetError, match=r"270 rows and 119 of the class .* 270 and 120 were"):
        load("heart")


def test_thyroid_is_sick_against_well(net):
    values = np.random.default_rng(0).normal(size=(215, 5))
    columns = {"Class": ["1"] * 150 + ["2"] * 35 + ["3"] * 30}
    columns |= {f"x{i}": values[:, i].tolist() for i in range(5)}
    publish(net, "thyroid-new", 1, columns, "Class")
    found = load("thyroid")
    np.testing.assert_array_equal(found.y, [0] * 150 + [1] * 65)
    assert [len(part) for part in found.splits[0]] == [140, 75]


def test_mnist_becomes_the_file_of_its_images(net, tmp_path):
    images = np.random.default_rng(0).integers(256, size=(14, 784))
    columns = {f"pixel{i + 1}": images[:, i].tolist() for i in range(784)}
    digits = [str(i % 10) for i in range(14)]
    publish(net, "mnist_784", 1, columns | {"class": digits}, "class")
    path = tmp_path / "mnist.npz"
    openml.fetch(openml.SETS["mnist_odd_even"]._replace(rows=14, ones=7), path)
    found = array_files.read_mnist_odd_even(path)
    np.testing.assert_allclose(found.X, images / 255.0, rtol=1e-6)
    np.testing.assert_array_equal(found.y, np.arange(14) % 10 % 2)
    assert [len(part) for part in found.splits[0]] == [12, 2]


def test_electricity_leaves_out_the_date(net, tmp_path):
    names = ("date", "period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
    columns = {name: [float(i), 0.5] for i, name in enumerate(names)}
    columns |= {"day": ["2", "3"], "class": ["UP", "DOWN"]}
    publish(net, "electricity", 1, columns, "class")
    path = tmp_path / "electricity.npz"
    openml.fetch(openml.SETS["electricity"]._replace(rows=2, ones=1), path)
    found = array_files.read_table(path)
    assert found.feature_names == names[1:]
    np.testing.assert_array_equal(found.X, [[1, 2, 3, 4, 5, 6], [0.5] * 6])
    np.testing.assert_array_equal(found.y, [1, 0])


def test_adult_has_a_column_for_every_category(net, tmp_path):
    columns = {name: [30, 40, 50] for name in openml._ADULT_NUMBERS}
    columns |= {name: ["A", "B-c", "A"] for name in openml._ADULT_WORDS}
    columns |= {"workclass": ["Private", None, "Private"], "fnlwgt": [1, 2, 3]}
    columns["class"] = [">50K", "<=50K", "<=50K"]
    publish(net, "adult", 2, columns, "class")
    path = tmp_path / "adult.npz"
    openml.fetch(openml.SETS["adult"]._replace(rows=3, ones=1), path)
    found = array_files.read_table(path)
    expected = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
    assert found.feature_names[:7] == (*expected, "workclass=Private", "workclass=unknown")
    assert found.feature_names[7:9] == ("marital_status=A", "marital_status=B-c")
    np.testing.assert_array_equal(found.X[:, 5:9], [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_array_equal(found.y, [1, 0, 0])


def test_openml_without_an_answer(net):
    with pytest.raises(SourceError, match=r"HTTPError: .*404"):
        openml.fetch(openml.SETS["heart"], CATALOGUE["heart"].elsewhere[0].path)


def test_cover_types_without_an_answer(net, tmp_path):
    with pytest.raises(SourceError, match=r"HTTPError: .*404"):
        covertype.fetch(tmp_path / "covtype.npz")
    assert list(tmp_path.glob("cov*")) == []


def test_cover_types_become_the_file_of_that_name(tmp_path):
    X = np.arange(3 * 54, dtype=float).reshape(3, 54)
    covertype.write(tmp_path / "covtype.npz", X, np.array([1, 2, 7]))
    found = load("covtype", tmp_path)
    np.testing.assert_array_equal(found.X, X)
    assert found.X.dtype == np.float32
    np.testing.assert_array_equal(found.y, [0, 1, 0])
    assert found.feature_names[10] == "Wilderness_Area1"
    assert found.feature_names[-1] == "Soil_Type40"
