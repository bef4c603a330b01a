# SPDX-License-Identifier: MIT
"""The virtual GPU decodes what Apple's compiler made: all of AIR 2.5 to 2.7, and of AIR 2.8 all but tensor
operations. A sample of each library; with TM_TEST_FULL=1 every function."""
import collections
import os
import re

import pytest

import triton_metal
from libraries import VERSIONS, library

STEP = 1 if os.environ.get("TM_TEST_FULL") == "1" else 19
TENSOR = re.compile(r"__tensorops_\w+|air\.\w*tensor\w*")


def refusals(lib):
    """Reasons, each with a count and one function; and how many functions were tried of each AIR version."""
    counts, examples, tried = collections.Counter(), {}, collections.Counter()
    for index, name in list(enumerate(lib.names()))[::STEP]:
        air = lib.info(index)["air"]
        tried[air] += 1
        try:
            lib.kernel(index)
        except triton_metal.Error as error:
            found = re.search(r"uses (.*?), which", str(error))
            reason = (air, found.group(1) if found else str(error))
            counts[reason] += 1
            examples.setdefault(reason, name)
    return counts, examples, tried


@pytest.mark.parametrize("version", VERSIONS)
def test_decodes(version):
    counts, examples, tried = refusals(library(version))
    assert sum(tried.values()) > 800
    wrong = [f"{n} of AIR {air[0]}.{air[1]}: {reason}, such as {examples[air, reason]}"
             for (air, reason), n in counts.most_common() if air < (2, 8) or not TENSOR.fullmatch(reason)]
    assert not wrong, "\n".join(wrong)
    if version == "26":  # the refusals are counted, not skipped
        assert 0 < sum(counts.values()) < sum(tried.values()) / 8
