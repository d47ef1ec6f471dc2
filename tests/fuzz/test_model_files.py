"""Model files that are damaged, forged or hostile: a ModelFileError or a model that works.

Damage is random bytes. A forgery has a correct checksum, which is no secret: whoever writes a file
can seal it. So the two are tried apart: damage must be noticed, a forgery must do no harm.
"""

import copy
import json
import os
import struct
import sys
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewknots import DataError, GPClassifier, GPRegressor, ModelFileError, load
from fewknots.data.row_checks import OutOfReachError
from fewknots.files import container
from fewknots.kernels import RBF, Bounded, Fixed, Linear
from fewknots.tables.fit import RunOptions, Task, fit_files
from fewknots.tables.model import TableModel

X = np.random.default_rng(0).normal(size=(40, 2))
DAYS = pd.date_range("2024-01-01", periods=40, freq="W").astype(str)
TABLE = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down"), "day": DAYS})
TABLE.loc[3, "a"] = np.nan
NEVER = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}
FUZZ = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

seen_events: list[str] = []
sys.addaudithook(lambda event, _: seen_events.append(event) if event in NEVER else None)


def saved(folder, model):
    path = folder / "model.fewknots"
    model.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def contents(folder):
    """The bytes of a good file of each kind."""
    quick = {"n_inducing": 4, "learn_inducing": False, "tol": 1e-2, "random_state": 0}
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.7, "yes", "no")
    kernel = RBF(Bounded(0.1, 10.0), Fixed(2.0), ard=False) * 2.0 + Linear()
    options = {"class_weight": {"no": 1.0, "yes": 2.0}, "inducing_points": X[:4]}
    TABLE.assign(late=y).to_csv(folder / "table.csv", index=False)
    task, run = Task("late"), RunOptions(hold_out=0.0)
    return [
        saved(folder, GPClassifier(kernel, **(quick | options)).fit(X, y)),
        saved(folder, GPRegressor("matern32", **quick).fit(X, X[:, 0])),
        saved(folder, fit_files(str(folder / "table.csv"), task, GPClassifier(**quick), run)),
    ]


def check_words(error, most):
    """A message, and not a file's content in place of one."""
    assert 0 < len(str(error)) < most


def outcome(path):
    """The model's predictions, or None if the file was refused in so many words."""
    seen_events.clear()
    try:
        model = load(path)
    except ModelFileError as refused:
        check_words(refused, 1500)
        return None
    finally:
        assert not seen_events
    with np.errstate(all="ignore"), suppress(OutOfReachError):  # numbers that overflow
        if isinstance(model, GPRegressor):
            return model.predict(X)
        if isinstance(model, GPClassifier):  # perhaps one that was in a table's model
            return model.predict_proba(np.resize(X, (len(X), model.n_features_in_)))
        assert isinstance(model, TableModel)
        try:
            return model.predict_proba(TABLE)
        except DataError:  # it wants other columns than these
            return None
    return None


# --- damage ---------------------------------------------------------------------------------------


@st.composite
def damages(draw):
    """A function from a file's bytes to other bytes."""
    place = draw(st.floats(0.0, 1.0, exclude_max=True))
    kind = draw(st.sampled_from(["flip", "cut", "insert", "remove", "length", "header"]))
    if kind == "flip":
        flips = draw(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7))))

        def flipped(content):
            content = bytearray(content)
            for share, bit in [(place, 0), *flips]:
                content[int(share * len(content))] ^= 1 << bit
            return bytes(content)

        return flipped
    extra = draw(st.binary(min_size=1, max_size=40))
    length = draw(st.integers(0, 2**64 - 1) | st.integers(0, 10_000))
    return {
        "cut": lambda content: content[: int(place * len(content))],
        "insert": lambda content: _spliced(content, place, extra, 0),
        "remove": lambda content: _spliced(content, place, b"", len(extra)),
        "length": lambda content: struct.pack("<Q", length) + content[8:],
        "header": lambda content: struct.pack("<Q", len(extra)) + extra + content,
    }[kind]


def _spliced(content, place, extra, removed):
    at = int(place * len(content))
    return content[:at] + extra + content[at + removed :]


@FUZZ
@given(which=st.integers(0, 2), damage=damages())
def test_damage_is_noticed(which, damage, folder, contents):
    good = contents[which]
    path = folder / "damaged.fewknots"
    path.write_bytes(damage(good))
    found = outcome(path)
    if found is not None:  # a blank more or less between two words
        path.write_bytes(good)
        np.testing.assert_array_equal(found, outcome(path))


@FUZZ
@given(content=st.binary(max_size=200))
def test_any_bytes(content, folder):
    path = folder / "any.fewknots"
    path.write_bytes(content)
    assert outcome(path) is None


# --- forgery --------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 3, 2**31, 2**63, 10**30, 0.0, -1.0, 1e308, 5e-324])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["<U9999", "object", "GPClassifier", "os.system", "../../etc/passwd", "gpu"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["array", "kernel", "constraint", "dict", "class", "fields", "dtype", "values"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def places_in(value, here=()):
    """Every place in a JSON value."""
    yield here
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value[:4]) if isinstance(value, list) else items
    for key, inner in items:
        yield from places_in(inner, (*here, key))


def forged(content, folder, change):
    """The path of a file whose header and arrays were changed and sealed again."""
    path = folder / "forged.fewknots"
    path.write_bytes(content)
    header, arrays = container.read(path)
    header, arrays = change(copy.deepcopy(header), {k: v.copy() for k, v in arrays.items()})
    container.write(path, header, arrays)
    return path


@FUZZ
@given(which=st.integers(0, 2), data=st.data())
def test_a_forged_header_does_no_harm(which, data, folder, contents):
    def change(header, arrays):
        for _ in range(data.draw(st.integers(1, 2))):
            *way, last = data.draw(st.sampled_from(list(places_in(header))[1:]))
            target = header
            for key in way:
                target = target[key]
            if data.draw(st.booleans()):
                target[last] = data.draw(json_values)
            else:
                del target[last]
        return header, arrays

    found = outcome(forged(contents[which], folder, change))
    assert found is None or not np.isnan(found).any()


@FUZZ
@given(which=st.integers(0, 2), data=st.data())
def test_forged_arrays_do_no_harm(which, data, folder, contents):
    def change(header, arrays):
        name = data.draw(st.sampled_from(sorted(arrays)))
        array = arrays[name]
        how = data.draw(st.sampled_from(["gone", "dtype", "shape", "value", "renamed"]))
        if how == "dtype":
            dtypes = ["f2", "f4", "f8", "i8", "u1", "?", "i2"]
            array = array.astype(data.draw(st.sampled_from(dtypes)))
        elif how == "shape":
            sizes = st.lists(st.integers(0, 5), max_size=3)
            array = np.resize(array, data.draw(sizes)).astype(array.dtype)
        elif how == "value" and array.size:
            special = [np.nan, np.inf, 0.0, -1.0, 1e300, 5e-324]
            array = array.astype(np.float64) if array.dtype.kind == "f" else array
            whole = [0, 1] if array.dtype.kind == "u" else [0, -1]
            value = data.draw(st.sampled_from(special if array.dtype.kind == "f" else whole))
            array.flat[data.draw(st.integers(0, array.size - 1))] = value
        arrays.pop(name)
        if how == "renamed":
            arrays[name + "x"] = array
        elif how != "gone":
            arrays[name] = array
        return header, arrays

    found = outcome(forged(contents[which], folder, change))
    assert found is None or found.shape[0] == len(X)


# --- what is large, deep or no file ---------------------------------------------------------------


def raw(header, data=b"", length=None):
    """A safetensors file with this header text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    sealed = {"header": {"format": 1}, "sha256": "0" * 64}
    metadata = {"fewknots": json.dumps(sealed)}
    array = {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}
    return {"__metadata__": metadata, "a": array}


def nested(depth):
    return b"[" * depth + b"]" * depth


MIB = 2**20
HOSTILE = {
    "a length beyond everything": lambda: raw(b"{}", length=2**64 - 1),
    "a length of exabytes": lambda: raw(b"{}", length=2**60),
    "an array of exabytes": lambda: raw(entry(shape=(2**57,), offsets=(0, 2**60)), b"\0" * 8),
    "a shape that overflows": lambda: raw(entry(shape=(2**40, 2**40)), b"\0" * 8),
    "no rows of endless width": lambda: raw(entry(shape=(0, 2**62), offsets=(0, 0))),
    "negative sizes": lambda: raw(entry(shape=(-1,), offsets=(0, -8))),
    "offsets backwards": lambda: raw(entry(offsets=(8, 0)), b"\0" * 8),
    "an unknown dtype": lambda: raw(entry(dtype="PICKLE"), b"\0" * 8),
    "a small dtype": lambda: raw(entry(dtype="F8_E4M3", shape=(8,)), b"\0" * 8),
    "something after the end": lambda: raw(entry(), b"\0" * 80),
    "lists in lists": lambda: raw(nested(200_000)),
    "lists in lists in our part": lambda: raw({"__metadata__": {"fewknots": "[" * 100_000}}),
    "a header of commas": lambda: raw(b'{"a":[' + b"1," * (20 * MIB) + b"1]}"),
    "a header of lists": lambda: raw(b'{"a":[' + b"[]," * (15 * MIB) + b"1]}"),
    "a number without end": lambda: raw(b'{"a":' + b"9" * MIB + b"}"),
    "not a number": lambda: raw({"__metadata__": {"fewknots": '{"header": {"format": NaN}}'}}),
    "half a character": lambda: raw(b'{"\xff": 1}'),
    "a lone surrogate": lambda: raw({"__metadata__": {"fewknots": '"\ud800"'}}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_little(name, folder):
    path = folder / "hostile.fewknots"
    path.write_bytes(HOSTILE[name]())
    size = path.stat().st_size
    tracemalloc.start()
    started = time.process_time()
    try:
        assert outcome(path) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 10.0
    assert peak < 20 * size + 10 * MIB


def nested_kernel(depth):
    kernel = {"class": "Constant", "fields": {"variance": 1.0}}
    for _ in range(depth):
        kernel = {"class": "Sum", "fields": {"k1": {"kernel": kernel}, "k2": {"kernel": kernel}}}
    return kernel


FORGED = {
    "labels of gigabytes": lambda h: h["targets"]["classes"].update(
        dtype="<U9999", values=["a"] * 10**5, shape=[10**5]
    ),
    "a shape of its own": lambda h: h["targets"]["classes"].update(shape=[2**40]),
    "a shape to be guessed": lambda h: h["targets"]["classes"].update(shape=[-1]),
    "one label twice": lambda h: h["targets"]["classes"].update(values=["no", "no"]),
    "labels of lists": lambda h: h["targets"]["classes"].update(dtype="object", values=[[1], {}]),
    "a number too large": lambda h: h["targets"]["classes"].update(dtype="<i8", values=[0, 10**30]),
    "a deep kernel": lambda h: h.update(kernel=nested_kernel(6)),
    "a deeper kernel": lambda h: h["kernel"]["fields"].update(k1={"kernel": chain(150)}),
    "a kernel in an argument": lambda h: h["arguments"].update(kernel={"kernel": chain(150)}),
    "a kernel of text": lambda h: h.update(
        kernel={"class": "Constant", "fields": {"variance": "1.0"}}
    ),
    "a kernel without numbers": lambda h: h.update(
        kernel={"class": "RBF", "fields": {"lengthscale": None, "variance": None, "ard": True}}
    ),
    "half a kernel": lambda h: h["kernel"]["fields"].update(k2=3.0),
    "too many features": lambda h: h.update(n_features=2**40),
    "features in fractions": lambda h: h.update(n_features=2.0),
    "another device": lambda h: h["arguments"].update(device=["cpu"]),
    "no finite evidence": lambda h: h["training"].update(log_evidence="nan"),
    "a name of a mebibyte": lambda h: h.update(estimator="x" * MIB),
    "an argument of a mebibyte": lambda h: h["arguments"].update({"x" * MIB: 1}),
}


def chain(depth):
    """A sum of sums, as text would nest it."""
    kernel = {"class": "Constant", "fields": {"variance": 1.0}}
    for _ in range(depth):
        one = {"class": "Constant", "fields": {"variance": 1.0}}
        kernel = {"class": "Sum", "fields": {"k1": {"kernel": kernel}, "k2": {"kernel": one}}}
    return kernel


@pytest.mark.parametrize("name", FORGED)
def test_forgeries_are_refused(name, folder, contents):
    def change(header, arrays):
        FORGED[name](header)
        return header, arrays

    path = forged(contents[0], folder, change)
    tracemalloc.start()
    started = time.process_time()
    try:
        found = outcome(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is None
    assert time.process_time() - started < 5.0
    assert peak < 20 * path.stat().st_size + 10 * MIB


def test_a_file_brings_no_folder_to_write_to(folder, contents):
    def change(header, arrays):
        header["arguments"].update(checkpoint=str(folder / "elsewhere"), resume=True)
        return header, arrays

    model = load(forged(contents[0], folder, change))
    assert model.checkpoint is None
    assert not model.resume


def test_names_that_are_no_files(tmp_path):
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder, "/dev/zero", tmp_path / "a\0b"):
        with pytest.raises(ModelFileError, match="is not a file"):
            load(path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "loop", tmp_path / "nothing", tmp_path / ("x" * 300)):
        with pytest.raises(OSError, match=r"No such file|symbolic links|too long"):
            load(path)


def test_a_sparse_file_is_not_read(tmp_path):
    path = tmp_path / "sparse.fewknots"
    with path.open("wb") as file:
        file.write(raw(entry(), b"\0" * 8))
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="something follows"):
        load(path)
