"""Profiles for TensorRT: what a file leaves open, from the bundle's own inputs."""

from __future__ import annotations

import numpy as np

from caniexport.runner.adapters.profiles import choose_sizes, choose_values


def test_open_dimensions_take_the_inputs_sizes_and_a_few_more():
    found = choose_sizes((-1, 3, -1), [(2, 3, 224), (5, 3, 100)])

    assert found == ([1, 3, 1], [2, 3, 224], [16, 3, 224])
    # an input that numpy cannot hold: nothing is known of its sizes
    assert choose_sizes((-1, 4), []) == ([1, 4], [2, 4], [16, 4])
    # an empty input is a size too
    assert choose_sizes((-1,), [(0,)]) == ([0], [0], [16])


def test_an_input_that_is_a_shape_takes_the_bundles_values_and_no_others():
    assert choose_values([np.array([2, -1]), np.array([1, 6])]) == ([1, -1], [2, -1], [2, 6])
    assert choose_values([np.array(7)]) == ([7], [7], [7])
