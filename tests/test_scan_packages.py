"""The real text of packages: what each place is, and whether it is still needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from caniexport import scan_source
from caniexport.scan.site import Sureness

QUOTED = Path(__file__).parent / "quoted"

pytestmark = pytest.mark.published


@pytest.fixture
def scanned(tmp_path, results):
    """Scan quoted files under the names that they have in their project."""

    def run(torch, *names, **options):
        for name in names:
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(QUOTED / f"{Path(name.replace('__', '/')).name}.txt", path)
        return scan_source(results, tmp_path, torch=torch, **options)

    return run


def judged(found, path=""):
    """What is said of each place: the case or the operator, and the word."""
    counted = (item for item in found.findings if not (item.is_lesser or item.is_setting) and path in item.site.path)
    return {
        (item.site.line, item.site.fixes[0][0] if item.site.sure is Sureness.SAME else item.site.name): item.word.value
        for item in counted
        if not item.site.runtime
    }


def cases(found):
    return {name for _, name in judged(found)}


def test_mmcvs_bilinear_sampling_is_needed_at_opset_11_and_obsolete_where_the_exporter_has_a_grid_sample(scanned):
    old = scanned("1.10.2", "mmcv_point_sample.py", exporter="trace")
    new = scanned("2.8.0", "mmcv_point_sample.py", exporter="trace")

    sampling = "grid-sampler-unsupported-opset-11"
    words = [
        {word for (_, name), word in judged(found).items() if name == sampling or "grid" in name}
        for found in (old, new)
    ]
    assert words == [{"needed"}, {"obsolete"}]
    assert any(item.site.of == "mmcv's bilinear_grid_sample" for item in new.findings)


def test_a_cross_product_that_a_protein_model_writes_out_is_found(scanned):
    old = scanned("1.10.2", "modelscope_frame.py", exporter="trace")
    new = scanned("2.8.0", "modelscope_frame.py", exporter="trace")

    assert set(judged(old).values()) == {"needed"}
    assert set(judged(new).values()) == {"obsolete"}
    assert cases(old) == cases(new) == {"cross-no-symbolic"}


def test_mmcvs_adaptive_pool_by_stride_and_kernel_is_found(scanned):
    found = scanned("1.10.2", "mmcv_adaptive_pool.py", exporter="trace")

    assert any("adaptive" in name for name in cases(found))


#: the case, or where it is not plain the operator, of each function that mmdeploy puts in an operator's place
REWRITERS = {
    "adaptive-avg-pool2d-factor", "any", "atan2-no-rule", "linspace", "masked_fill", "topk-larger-than-size", "triu",
    "aten::hardsigmoid", "aten::squeeze",
}  # fmt: skip


def test_each_rewriter_of_mmdeploy_is_told_and_those_of_other_backends_apart(scanned):
    found = scanned("1.10.2", "mmdeploy_rewriters.py", "mmdeploy__utils__mmdeploy_test_utilities.py", exporter="trace")

    assert {name for _, name in judged(found, "mmdeploy_rewriters")} == REWRITERS
    assert {item.site.runtime for item in found.findings} - {""} == {"ncnn", "torchscript", "tensorrt", "coreml"}


def test_the_opset_of_a_test_utility_is_not_the_projects(scanned):
    found = scanned("1.10.2", "mmdeploy__utils__test__mmdeploy_test_utilities.py", "mmdeploy_rewriters.py")

    assert found.opset is None
    assert any(item.site.name == "11" for item in found.findings if item.is_setting)
