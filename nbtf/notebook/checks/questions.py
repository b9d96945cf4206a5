"""The predictions that lessons ask for before a cell is run, and their right answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from nbtf.notebook.checks.answers import Verdict
from nbtf.notebook.checks.wording import listed, phrase

_BY_LESSON = """
    01 computers Abc · seven_names Abc · hidden_card aBc
    02 four_gpus aBc · cpu_request aB · text_join Abc · two_additions abC · traced_function aBc · no_gpu abC
    03 cpu_inputs Abc · inside_scope abC · copy_before Abc
    04 gpu_2 abC · no_soft_placement Abc · soft_request aBc · guide_cell aBc · two_products abC
    05 first_tensor Abc · four_cards aBc · deleted_tensors abC · first_card aBc · growth_words Abc
    06 failed_request abC · four_gib Abc · one_mib abC · piece_between Ab · two_deletions abC
    07 one_product abC · card_1 Ab · shell_quotes abC · card_7 Abc · set_in_python aB
    08 tower_log aBc · tower_sum aB · result_bytes aBc · split_card abC
    09 loss Abc · batch_norm abC · weights Abc · batch_part Ab · gradient_bytes aBc
    10 described_product Abc · session_copies abC · session_error aBc
    11 default_pool Abc · visible_cards aBc · closed_session abC · forty_percent Abc · second_session aBc
    12 log_and_ladder Abc · hidden_cards aBc · factor abC
    13 pytorch_losses Abc · backward_line aB · full_card abC
    14 bare_gpu aBc · host_copy Abc · one_number abC · thousand_gpus aBc
    15 lost_worker abC · killed_worker Abc
    16 early_timer Abc · waiting_line abC · small_products aBc
    17 one_adam_step abC · larger_batch aBc · mixed_precision Abc
    18 first_stage Abc · stage_2_copies Abc · stage_3_copies aBc · seven_billion abC
"""

QUESTIONS: Mapping[str, str] = MappingProxyType(
    {entry.split()[-2]: entry.split()[-1] for line in _BY_LESSON.strip().splitlines() for entry in line.split(" · ")}
)
"""The letters of the answers, by the question's name; the right one is a capital."""


def judge_choice(name: str, choice: str) -> Verdict:
    """Returns the verdict on a choice, or asks for one. The next cell shows what happens, the text below it why.

    Args:
      name: a key of `QUESTIONS`.
      choice: a letter, with or without brackets; empty if none was chosen.

    >>> str(judge_choice("four_gpus", "b"))
    'Right: (b). Run the next cell and see.'
    """
    letters, letter = QUESTIONS[name], choice.strip("()").lower()
    if len(letter) != 1 or letter not in letters.lower():
        *first_letters, last = letters.lower()
        options = phrase("or", first=listed(first_letters), last=last)
        return Verdict(None, phrase("choose", letters=options, name=name, letter="a"))
    if letter.upper() in letters:
        return Verdict(True, phrase("rightChoice", letter=letter))
    return Verdict(False, phrase("wrongChoice", letter=letter))
