"""Make ``docs/exactness.md``: every public parameter, what becomes of it under every guarantee and verifier, and the tests
that hold it. Run from the repository's root.

A cell says "exact" only where the test of that parameter under that verifier is collected; a public parameter without a
line, or a line whose test is not there, is an error.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from headstart.engine import Engine
from headstart.grammar import Grammar
from headstart.options import Options
from headstart.sampling import Sampling
from headstart.verify import VERIFIERS
from support.asked import REAL, TOY

ROOT = Path(__file__).parents[2]

HEAD = """# What is exact

Every parameter, under every guarantee and verifier. Made by `tests/cases/make_exactness.py`: a parameter without a line is an
error, and a cell says *exact* only where a test of that parameter under that verifier exists.

- **exact** under `text` (`greedy`, `coupled`): same seed, same ids, text, end, log-probabilities, usage and stream as plain
  decoding, for draft lengths 1 to 8. Under `law` (`walk` to `k-seq`): the same joint distribution of whole answers, by running
  every coin of the whole engine every way; no sampling, equal to the rounding of float64.
- **kept** under `lossy`: the law is another, but what may not follow never does, and answers end where they must.
- **lossy**: shapes the target's law as everywhere, and the rule then follows it only roughly.
- **refused**: an error in one sentence, at once.

All of them together, at random, with any drafter and any accept pattern:
`tests/property/test_differential.py::test_drafted_equals_plain`.

## What shapes rows and ends

"""

TEXT = "tests/cases/test_every_parameter.py::test_text_equals_plain"
LAW = "tests/law/test_engine.py::test_every_parameter"
WIDE = "tests/law/test_engine.py::test_every_parameter_on_trees_and_paths"
LOSSY = "tests/cases/test_every_parameter.py::test_lossy_keeps_what_is_certain"
ABOVE_ZERO = ("temperature", "top_k", "top_p", "min_p", "typical_p")
"""What ``greedy`` refuses: that test demands the refusal."""

ALSO = {
    "max_tokens": ["case_13_max_tokens.py::test_exactly_that_many"],
    "min_tokens": ["case_10_stop_strings.py::test_stops_are_not_looked_for_before_min_tokens"],
    "temperature": ["case_04_sampled_distribution.py::test_tokens_follow_the_exact_law"],
    "top_k": ["case_04_sampled_distribution.py::test_only_top_k_given_means_temperature_one"],
    "repetition_penalty": ["case_01_repetition_penalty.py::test_equal_to_plain"],
    "presence_penalty": ["case_01_repetition_penalty.py::test_output_penalties"],
    "frequency_penalty": ["case_01_repetition_penalty.py::test_output_penalties"],
    "logit_bias": ["case_03_logit_bias.py::test_a_bias_of_100_takes_every_place"],
    "banned_tokens": ["case_03_logit_bias.py::test_a_banned_token_that_the_drafter_always_proposes"],
    "forced_tokens": ["case_03_logit_bias.py::test_forced_tokens_stand_at_their_places"],
    "processors": ["case_03_logit_bias.py::test_a_processor_sees_the_drafted_ancestors"],
    "grammar": ["case_25_grammar.py::test_prose_then_right_tokens_then_more_after_the_end"],
    "stop": ["case_10_stop_strings.py::test_equal_to_plain_and_cut_at_one_place"],
    "include_stop": ["case_10_stop_strings.py::test_equal_to_plain_and_cut_at_one_place"],
    "stop_token_ids": ["case_08_eos_inside_a_block.py::test_nothing_after_the_end"],
    "ignore_eos": ["case_08_eos_inside_a_block.py::test_the_models_own_end_token"],
    "logprobs": ["case_24_logprobs.py::test_equal_to_plain_and_to_scoring"],
    "prompt_logprobs": ["case_24_logprobs.py::test_equal_to_plain_and_to_scoring"],
}
"""The field case of a parameter, besides the tests that go through all of them."""


@dataclass(frozen=True)
class Line:
    """What becomes of a parameter under each guarantee, and where that is tested."""

    text: str
    law: str
    lossy: str
    tests: tuple[str, ...]


def nothing_moves(*tests: str) -> Line:
    return Line("moves nothing", "moves no probability", "moves the law", tests)


def same(what: str, *tests: str) -> Line:
    return Line(what, what, what, tests)


OTHERS = {
    "drafter": nothing_moves(
        "tests/unit/test_engine.py::test_text_does_not_move_with_the_drafter",
        "tests/unit/test_faulty_drafters.py::test_plain_text_and_the_reason",
        "tests/law/test_engine.py::test_every_length_with_the_bonus_and_the_round_after",
    ),
    "draft_length": nothing_moves(
        "tests/unit/test_engine.py::test_text_does_not_move_with_the_drafter",
        "tests/law/test_engine.py::test_every_length_with_the_bonus_and_the_round_after",
    ),
    "draft_model": nothing_moves(
        "tests/cases/test_case_21_draft_cache.py::test_scores_from_the_cache_equal_a_fresh_pass",
        "tests/cases/test_case_16_padded_vocabularies.py::test_no_id_beyond_the_target_anywhere",
        "tests/law/test_engine.py::test_pairs_of_vocabularies",
    ),
    "draft_vocabulary": nothing_moves(
        "tests/cases/test_case_18_other_tokenizer.py::test_equal_to_plain",
        "tests/law/test_engine.py::test_pairs_of_vocabularies",
    ),
    "verifier": Line(
        "moves nothing",
        "moves no probability",
        "chooses the law",
        (
            "tests/law/test_lossless.py::test_sampled_chains_of_many_worlds",
            "tests/unit/test_verify.py::test_what_does_not_go_together_is_refused_by_name",
        ),
    ),
    "guarantee": Line(
        "plain decoding's text",
        "plain decoding's law",
        "neither; the result says so",
        (TEXT, LAW, LOSSY, "tests/unit/test_engine.py::test_text_needs_a_model_whose_rows_keep_their_bits"),
    ),
    "seed": Line(
        "same seed, same text, whatever drafts",
        "same seed and drafter, same text",
        "same seed and drafter, same text",
        (
            "tests/cases/test_every_parameter.py::test_a_seed_gives_one_answer_under_every_guarantee",
            "tests/unit/test_engine.py::test_two_seeds_differ",
        ),
    ),
    "threads": same(
        "moves nothing",
        "tests/property/test_rows.py::test_rows_keep_their_bits_in_any_company",
        "tests/width/test_matrix.py::test_any_span_of_outputs",
    ),
    "context": same(
        "ends the answer as plain decoding would",
        "tests/cases/test_case_13_max_tokens.py::test_unset_and_beyond_end_at_the_context",
        "tests/unit/backends/test_contract.py::test_a_smaller_context_ends_sooner",
    ),
    "model": same(
        "whose answers they are",
        "tests/golden/test_identity.py::test_drafted_text_is_plain_text",
        "tests/golden/test_hf.py::test_logits_are_hugging_faces",
    ),
    "precision": same(
        "another model in effect: equal within one `numerics_id`",
        "tests/property/test_rows.py::test_rows_keep_their_bits_in_any_company",
        "tests/golden/test_default.py::test_int8_activations_stay_near_their_laws",
    ),
    "backend": same(
        "another model in effect: equal within one `numerics_id`",
        "tests/property/test_rows.py::test_rows_keep_their_bits_in_any_company",
        "tests/unit/backends/test_contract.py::test_an_unknown_backend_or_precision_is_refused_by_name",
    ),
    "tokenizer": same(
        "reads the prompt, writes the text",
        "tests/golden/test_tokenizers.py::test_gguf_vocabularies_give_the_ids_of_transformers",
        "tests/cases/test_case_27_split_characters.py::test_pieces_join_and_characters_come_out_whole",
    ),
    "chat_template": same(
        "makes the prompt",
        "tests/golden/test_chat.py::test_templates_render_as_in_transformers",
        "tests/unit/test_engine.py::test_raw_leaves_the_chat_template_out",
    ),
    "raw": same("makes the prompt", "tests/unit/test_engine.py::test_raw_leaves_the_chat_template_out"),
    "grammar.kind": same("as `grammar`", "tests/cases/test_case_25_grammar.py::test_every_kind"),
    "grammar.source": same(
        "as `grammar`",
        "tests/cases/test_case_25_grammar.py::test_equal_to_plain_and_valid",
        "tests/cases/test_case_25_grammar.py::test_sampled_drafts_come_from_the_masked_law",
    ),
    "grammar.after": same("as `grammar`", "tests/cases/test_case_25_grammar.py::test_a_grammar_after_a_marker"),
    "generate(trace)": same("moves nothing", "tests/unit/trace/test_trace.py::test_every_rule_follows"),
    "generate_batch(prompts, each)": same(
        "each answer is the one it would be alone",
        "tests/cases/test_case_23_mixed_batch.py::test_together_equals_alone",
    ),
    "generate_choices(count)": same(
        "each choice has noise of its own; the first is what `generate` gives",
        "tests/cases/test_case_23_mixed_batch.py::test_three_choices_have_noise_of_their_own_and_share_the_prompt",
    ),
}

REFUSED = {
    '`guarantee` "text" of a model whose rows change with their company': (
        "tests/unit/test_engine.py::test_text_needs_a_model_whose_rows_keep_their_bits"
    ),
    "a `verifier` that keeps less than the `guarantee`": (
        "tests/unit/test_faulty_drafters.py::test_a_rule_that_never_takes_the_drafters_drafts_is_refused_by_name"
    ),
    '`verifier` "greedy" above temperature 0': TEXT,
    "`grammar` with `ignore_eos`": "tests/cases/test_case_25_grammar.py::test_a_grammar_and_ignore_eos_are_refused_together",
    "a grammar that does not compile": "tests/cases/test_case_25_grammar.py::test_bad_grammars_are_refused_in_a_sentence",
    "tokens outside the vocabulary": "tests/cases/test_case_03_logit_bias.py::test_tokens_outside_the_vocabulary_are_refused",
    "bans, forced tokens, processors or a grammar that leave nothing to follow (when it is met, as in plain decoding)": (
        "tests/unit/test_dead_ends.py::test_a_grammar_that_ends_before_min_tokens"
    ),
    "two vocabularies of one size and different meanings": (
        "tests/cases/test_case_16_padded_vocabularies.py::test_one_size_with_other_meanings_is_refused_by_name"
    ),
    "`max_tokens` of 0 or less": (
        "tests/cases/test_case_13_max_tokens.py::test_what_is_not_allowed_is_refused_with_and_without_a_drafter"
    ),
    "a prompt of no tokens": "tests/cases/test_case_15_prompt_edges.py::test_the_empty_prompt_is_refused_alike",
    "an object that is no drafter": "tests/unit/test_faulty_drafters.py::test_what_is_no_drafter_is_refused_at_once",
}


def public_parameters() -> set[str]:
    """Fields of ``Options``, ``Sampling`` and ``Grammar``, parameters of ``Engine``."""
    of_engine = set(inspect.signature(Engine.__init__).parameters) - {"self", "defaults"}
    of_grammar = {f"grammar.{field.name}" for field in fields(Grammar)}
    return {field.name for kind in (Options, Sampling) for field in fields(kind)} | of_engine | of_grammar


def without_a_line(parameters: Iterable[str]) -> list[str]:
    return sorted(set(parameters) - set(TOY) - set(OTHERS))


def collected(paths: Iterable[str]) -> set[str]:
    """Ids of the tests in these files, and the same without their parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(set(paths))]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    ids = {line for line in output.splitlines() if "::" in line}
    return ids | {test.split("[")[0] for test in ids} | {test.split("::")[0] for test in ids}


def cell(name: str, verifier: str, known: set[str]) -> str:
    """What a parameter is under a verifier, by the test that there is."""
    if verifier == "greedy" and name in ABOVE_ZERO:
        return "refused"
    exact = [
        f"{TEXT}[chain-{verifier}-{name}]",
        *(f"{LAW}[{draw}-{verifier}-{name}]" for draw in ("chain", "certain")),
        f"{WIDE}[paths-{verifier}-{name}]",
    ]
    if VERIFIERS[verifier].guarantee == "lossy":
        return "kept" if f"{LOSSY}[{verifier}-{name}]" in known else "lossy"
    if not known.intersection(exact):
        raise SystemExit(f"no test holds {name} under {verifier}")
    return "exact"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def tests_cell(tests: Iterable[str], known: set[str]) -> str:
    missing = [test for test in tests if test not in known]
    if missing:
        raise SystemExit(f"there is no test {missing[0]}")
    return "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests)


def shaping(known: set[str]) -> str:
    """The table of parameters that rows and ends know of."""
    out = row("parameter", *VERIFIERS, "held also by (`tests/`)") + row(*["---"] * (len(VERIFIERS) + 2))
    for name in TOY:
        also = [f"tests/cases/test_{test}" for test in ALSO.get(name, ())]
        if name in ("top_p", "min_p", "typical_p", "temperature"):
            also.append("tests/golden/test_processors.py::test_equal_kept_sets_and_probabilities")
        out += row(f"`{name}`", *(cell(name, verifier, known) for verifier in VERIFIERS), tests_cell(also, known))
    return out


def page() -> str:
    """The whole page."""
    if missing := without_a_line(public_parameters()):
        raise SystemExit(f"no line for the parameter {missing[0]}; add one to tests/cases/make_exactness.py")
    if set(TOY) != set(REAL):
        raise SystemExit(f"tests/support/asked.py has {set(TOY) ^ set(REAL)} on one side only")
    tests = [*(test for line in OTHERS.values() for test in line.tests), *REFUSED.values(), TEXT, LAW, LOSSY]
    tests += [f"tests/cases/test_{test}" for also in ALSO.values() for test in also] + [
        "tests/golden/test_processors.py"
    ]
    known = collected(test.split("::")[0] for test in tests)
    out = HEAD + shaping(known)
    out += (
        f"\nUnder `text` by `{TEXT}`, under `law` by `{LAW}` and its sisters on trees and paths,\nunder `lossy` by `{LOSSY}`,"
        " each with the parameter's name in its brackets.\n\n## Everything else\n\n"
    )
    out += row("parameter", "text", "law", "lossy", "held by (`tests/`)") + row(*["---"] * 5)
    for name, line in OTHERS.items():
        out += row(f"`{name}`", line.text, line.law, line.lossy, tests_cell(line.tests, known))
    out += "\n## Refused, with one sentence\n\n" + row("what", "held by (`tests/`)") + row("---", "---")
    return out + "".join(row(what, tests_cell([test], known)) for what, test in REFUSED.items())


if __name__ == "__main__":
    (ROOT / "docs" / "exactness.md").write_text(page(), encoding="utf-8")
