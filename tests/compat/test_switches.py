from __future__ import annotations

import pytest

import nbtf
import nbtf.compat.v1 as tf1


def test_graphs_are_built_until_something_is_switched() -> None:
    assert not tf1.executing_eagerly()


def test_eager_execution_runs_ops_at_once() -> None:
    tf1.enable_eager_execution()

    assert tf1.executing_eagerly()
    assert [3.0, 2.0] == [tf1.reduce_sum([1.0, 2.0], reduction_indices=0).numpy(), tf1.div(4.0, 2.0).numpy()]
    assert isinstance(tf1.constant([1, 2], shape=[3]), nbtf.Tensor)
    assert isinstance(tf1.Variable(1.0), nbtf.Variable)


def test_eager_execution_comes_before_the_first_node() -> None:
    tf1.constant(1)

    with pytest.raises(ValueError, match=r"^tf\.enable_eager_execution must be called at program startup\.$"):
        tf1.enable_eager_execution()


def test_eager_execution_can_be_enabled_twice() -> None:
    tf1.enable_eager_execution()
    tf1.enable_eager_execution()

    assert tf1.executing_eagerly()


def test_settings_of_a_session_hold_for_eager_ops(capsys: pytest.CaptureFixture[str]) -> None:
    tf1.enable_eager_execution(config=tf1.ConfigProto(log_device_placement=True))
    tf1.square(2.0)

    assert "Executing op Square in device /job:localhost/replica:0/task:0/device:CPU:0\n" in capsys.readouterr().err


def test_what_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^config must be a tf\.ConfigProto, but got <class 'dict'>$"):
        tf1.enable_eager_execution(config={})  # pyright: ignore[reportArgumentType]


def test_placeholders_need_a_graph() -> None:
    tf1.enable_eager_execution()

    with pytest.raises(RuntimeError, match=r"tf\.placeholder\(\) is not compatible with eager execution"):
        tf1.placeholder(tf1.float32)


def test_graphs_can_be_built_in_blocks_all_the_same() -> None:
    tf1.enable_eager_execution()

    with tf1.Graph().as_default():
        x = tf1.placeholder(tf1.float32)
        assert 3.0 == tf1.Session().run(x + 1.0, {x: 2.0})


def test_blocks_of_graphs_do_no_harm_to_eager_ops() -> None:
    tf1.enable_eager_execution()

    with tf1.control_dependencies([tf1.no_op()]), tf1.name_scope("s", values=[]), tf1.device("cpu:0"):
        assert 2.0 == tf1.add(1.0, 1.0).numpy()


def test_graphs_come_back() -> None:
    tf1.enable_eager_execution()
    tf1.disable_eager_execution()

    assert "Const:0" == tf1.constant(1).name


def test_a_restart_forgets_switches_and_the_graph() -> None:
    tf1.enable_v2_behavior()
    nbtf.runtime.restart()

    assert not tf1.executing_eagerly()
    assert 0 == tf1.get_default_graph().version
    assert "(?,)" == str(tf1.placeholder(tf1.float32, [None]).shape)


def test_shapes_show_dimensions_until_that_is_switched_off() -> None:
    x = tf1.placeholder(tf1.float32, [None, 2])
    old = repr(x.shape)
    tf1.enable_v2_tensorshape()

    assert ["TensorShape([Dimension(None), Dimension(2)])", "TensorShape([None, 2])"] == [old, repr(x.shape)]
    assert tf1.TensorShape is nbtf.TensorShape


@pytest.mark.parametrize("switch", ["enable_tensor_equality", "disable_tensor_equality"])
def test_tensors_of_graphs_are_compared_by_identity(switch: str) -> None:
    getattr(tf1, switch)()
    x, y = tf1.constant([1.0, 2.0]), tf1.constant([1.0, 2.0])

    assert [True, False, True] == [x == x, x == y, x != y]


def test_an_eager_op_on_a_tensor_of_a_graph_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"belongs to a graph.*import nbtf\.compat\.v1 as tf"):
        nbtf.add(tf1.constant(1.0), 1.0)


def test_a_session_that_gets_an_eager_tensor_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match=r"graph is empty.*disable_eager_execution.*import nbtf\.compat\.v1 as tf"):
        tf1.Session().run(nbtf.constant(1.0))


def test_restart_forgets_what_names_meant_after_a_switch() -> None:
    tf1.enable_eager_execution()
    eager = tf1.Variable
    nbtf.runtime.restart()

    assert eager is nbtf.Variable
    assert tf1.Variable is not nbtf.Variable
