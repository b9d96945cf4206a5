"""Is memory attributed to the library whose call is innermost?"""

from __future__ import annotations

import pytest

from nbtf._snapshots.libraries import library_call_of
from nbtf._snapshots.snapshot import Frame

PACKAGES = "/opt/conda/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("frames", "library"),
    [
        ([("??", "at::cuda::getCUDABlasLtWorkspace()")], "cuBLAS"),
        ([("??", "at::empty"), ("??", "at::native::raw_cudnn_convolution_forward_out(at::Tensor const&)")], "cuDNN"),
        ([("??", "c10d::ProcessGroupNCCL::allreduce(std::vector<at::Tensor>&)")], "NCCL"),
        ([("??", "pytorch_flash::mha_fwd(at::Tensor const&)")], "attention"),
        ([("??", "at::native::_efficient_attention_forward")], "attention"),
        ([(f"{PACKAGES}/flash_attn/flash_attn_interface.py", "_flash_attn_forward")], "flash_attn"),
        ([(f"{PACKAGES}/bitsandbytes/functional.py", "quantize"), ("/home/ann/a.py", "step")], "bitsandbytes"),
        ([("/tmp/torchinductor_ann/ab/cab.py", "call")], "compiled code"),
        ([(f"{PACKAGES}/torch/nn/modules/linear.py", "forward")], None),
        ([("/home/ann/a.py", "step"), ("??", "at::cuda::getCurrentCUDABlasHandle()")], None),
        ([("??", "at::native::add(at::Tensor const&)")], None),
        ([], None),
    ],
)
def test_the_innermost_call_of_a_library_decides(frames: list[tuple[str, str]], library: str | None) -> None:
    call = library_call_of(tuple(Frame(file, 1, function) for file, function in frames))

    assert (call and call.library) == library
    if call:
        assert "(" not in call.function
