"""The jet tagger of tables: its training, what is stored of it, and the integers of its kernel."""

import numpy as np
import pytest

from allo.designs.quantised import jets
from allo.designs.quantised.sparse import Shape, Sparse, train


def test_training_finds_what_each_neuron_reads():
    rng = np.random.default_rng(0)
    x = np.clip(np.round(rng.normal(0, 8, (3000, 6))), -32, 31).astype(np.float32) / 8
    labels = ((x[:, 0] > 0).astype(int) + (x[:, 3] - x[:, 5] > 0.5)).astype(np.int64)
    net = Sparse(6, (Shape(12, 1), Shape(15, 3, 4, True, 0.25)), 3)
    before = (net.classes(x) == labels).mean()
    assert list(train(net, x, labels, 20, batch=100, sharpness=1)) == list(range(20))
    assert [kept.sum(0).max() for kept in net.kept] == [1, 3]
    assert (net.classes(x) == labels).mean() > max(0.8, before)


def test_draws_have_as_many_of_each_class():
    rng = np.random.default_rng(1)
    sizes = (16, 64, 32, 32, 5)
    pairs = list(zip(sizes, sizes[1:], strict=False))
    weights = [rng.normal(0, 1.5 / np.sqrt(pair[0]), pair) for pair in pairs]
    weights[3] *= 4
    teacher = jets.Teacher(weights, [np.zeros(pair[1]) for pair in pairs])
    teacher.biases[3][:] = -np.median(teacher.scores(rng.normal(0, 1, (2000, 16))), 0)
    levels, classes = jets.draws(teacher, 500, 3)
    assert np.bincount(classes).tolist() == [100] * 5
    assert levels.shape == (500, 16) and -32 <= levels.min() and levels.max() <= 31
    assert np.array_equal(teacher.scores(levels / 8).argmax(1), classes)
    again, _ = jets.draws(teacher, 500, 3)
    assert np.array_equal(levels, again)


def test_integers_of_the_kernel_are_those_of_the_network():
    net = jets.student()
    x = np.random.default_rng(2).integers(-32, 32, (200, 16)).astype(np.int8)
    levels = x.astype(np.int64)
    for layer, (reads, weights, bias) in enumerate(jets.integers(net)):
        shift = jets.shift_of(net, layer)
        assert len(reads[0]) == net.shapes[layer].reads <= 3
        total = (levels[:, reads] * weights).sum(2) + bias
        even = np.where(total & ((1 << shift) - 1) == 0, -2, -1)
        levels = np.clip(total >> shift & even, *net.shapes[layer].ends)
    sums = levels.reshape(200, 5, -1).sum(2)
    assert np.array_equal(sums, net.forward(jets.as_floats(x))[2] / net.shapes[-1].unit)


def test_units_that_no_shift_joins():
    net = Sparse(16, (Shape(4, 1, unit=0.3), Shape(5, 2, 4, True, 0.25)), 5)
    with pytest.raises(ValueError, match="layer 0 has a unit that is no power of two of its sums'"):
        jets.integers(net)
