"""Does JupyterLab show what the magics return, and do these tests notice what they must not allow?"""

from __future__ import annotations

from tests.browser.lab import Lab


def test_table_of_devices_is_shown_as_a_table(lab: Lab) -> None:
    lab.open("import nbtf as tf\n_ = tf.runtime.simulate_gpus(2)\n%load_ext nbtf", "%devices")

    lab.run(0, 1)

    assert ["CPU:0", "GPU:0", "GPU:1"] == lab.output(1).locator("tbody tr > :first-child").all_inner_texts()


def test_request_to_another_machine_is_refused_and_noticed(lab: Lab) -> None:
    lab.page.goto(lab.server.address)

    refused = lab.page.evaluate("() => fetch('https://example.org/x.js').then(() => false, () => true)")

    asked, errors = lab.forget()
    assert (True, ["https://example.org/x.js"]) == (refused, asked)
    assert ["net::ERR_NAME_NOT_RESOLVED" in error for error in errors] == [True]
