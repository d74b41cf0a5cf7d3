"""What is said of runs that no worker will continue."""

from toolplan.app.workers import stranded_texts


def test_each_queue_is_named_with_its_runs_and_with_workers_that_have_other_tools() -> None:
    runs = {"1111111122": "office@a", "3333333344": "office@a", "5555555566": "lab@c"}
    lab, office = stranded_texts(runs, ["office@b", "office@b", "home@d"])
    assert lab.text == "There is no worker for lab@c, which 1 run needs: 55555555."
    assert office.text == (
        "There is no worker for office@a, which 2 runs need: 11111111, 33333333."
        " The workers for office@b have other tools."
    )
    assert "`toolplan worker office`" in office.help
    assert "`toolplan cancel RUN`" in office.help


def test_many_runs_are_counted() -> None:
    runs = {f"{at:08d}": "office@a" for at in range(25)}
    (found,) = stranded_texts(runs, [])
    assert "which 25 runs need: 00000000," in found.text
    assert found.text.endswith("00000019, and 5 more.")


def test_nothing_is_said_where_all_have_workers() -> None:
    assert not stranded_texts({}, ["office@a"])
