"""Check progress where stderr is a pipe: lines, soon and not too many; stdout stays clean."""

import pytest

from jaxccp.cli.progress import LINES, following


@pytest.mark.parametrize("iterations", [1, 7, 60, 301])
def test_lines_in_a_pipe(iterations: int, capsys: pytest.CaptureFixture[str]) -> None:
    with following(iterations, stages=1) as follower:
        follower.stage("fitting")
        for index in range(iterations):
            follower.iteration(index, 0.5)
        follower.stage("refining")
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0].endswith("fitting") and lines[-1].endswith("refining")
    assert lines[1].endswith(f"iteration 1 of {iterations}, loss 5.00e-01")
    assert lines[-2].endswith(f"iteration {iterations} of {iterations}, loss 5.00e-01")
    assert len(lines) <= LINES + 4
