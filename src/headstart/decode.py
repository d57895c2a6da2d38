"""The loop: draft, one pass over all requests, verdict, commit. Plain decoding is the same loop with empty drafts.

A request's cache always holds its tokens but the last; that one is the first row of its next pass.
Knows nothing of prompts, files or text: only of tokens, laws and rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from headstart.control import Controller
from headstart.errors import HeadstartError, RefusedError
from headstart.logprobs import logprob
from headstart.protocols import Batch, Drafter, Model
from headstart.request import Request, RowLaws
from headstart.tree import EMPTY, Draft

__all__ = ["admitted", "batch_of", "fit", "forced", "observe", "prefill", "propose", "step", "taps_of"]

CHUNK = 256
"""Rows of one prefill pass: between two of them a request can be cancelled."""

SLACK = 1e-6
"""How far from 1 a drafter's law may sum."""


def step(target: Model, requests: Sequence[Request], controller: Controller) -> None:
    """Run one round of every request: between one and ``draft + 1`` tokens are committed to each."""
    begin = time.perf_counter()
    drafts = [propose(request, target, controller) for request in requests]
    drafted = time.perf_counter()
    batch, firsts = batch_of(requests, drafts)
    rows = target.forward(batch, taps=taps_of(requests))
    passed = time.perf_counter()
    for request, draft, first in zip(requests, drafts, firsts, strict=True):
        laws = RowLaws(request, draft, rows, first, target.vocab_size)
        try:
            verdict = request.verify(draft, laws)
            committed = request.commit(draft, verdict, laws)
        except HeadstartError as error:  # of this request; the others go on
            request.fail(error)
            target.keep(request.sequence, ())
            continue
        kept = [laws.row(node) for node in (-1, *verdict.path[: len(committed) - 1])]
        if request.recorder is not None:
            request.recorder.round(request, draft, laws.seen, verdict, committed)
        observe(request, committed, rows)
        target.keep(request.sequence, kept)
        if request.guessed:
            controller.observe_verdict(request, draft, verdict)
    controller.observe_round(len(batch.tokens), time.perf_counter() - drafted)
    share = (drafted - begin, passed - drafted, time.perf_counter() - passed)
    for request in requests:
        request.statistics.add_seconds(*share)


def propose(request: Request, target: Model, controller: Controller) -> Draft:
    """Ask the drafter for a guess that fits; a drafter that fails is dropped, and the result says why."""
    request.begin_round()
    if request.drafter is None:
        return EMPTY
    room = min(request.remaining, target.context - len(request.tokens)) - 1
    budget = min(room, controller.budget(request))
    if budget <= 0:
        return EMPTY

    def made(drafter: Drafter) -> Draft:
        begin = time.perf_counter()
        if draft := forced(request, budget):
            return draft
        draft = admitted(request, fit(drafter.propose(request, budget), budget, target.vocab_size))
        request.rule(draft)
        request.guessed = True
        controller.observe_draft(request, draft, time.perf_counter() - begin)
        return controller.trim(request, draft)

    return request.with_drafter(made, EMPTY)


def fit(draft: Draft, budget: int, vocab_size: int) -> Draft:
    """Cut a draft to its budget and before its first token that the target does not have.

    Cutting at a count decided beforehand is always lossless; cutting at a token is so for drafts without randomness of
    their own (ALGORITHMS rule 10), so a *sampled* token outside the vocabulary is an error of its drafter, as is a law
    that is none.
    """
    if not isinstance(draft, Draft):
        raise TypeError(f"it proposed {draft!r:.60}, which is not a Draft")
    draft = draft if len(draft) <= budget else draft.head(budget)
    for node, (token, law) in enumerate(zip(draft.tokens, draft.laws, strict=True)):
        if law is not None and (law.size != vocab_size or not abs(law.weights.sum() - 1) < SLACK):
            raise ValueError(
                f"it drew from weights on {law.size} tokens that sum to {law.weights.sum():.6g}; they must sum to 1 over the "
                f"target's {vocab_size} tokens"
            )
        if not 0 <= token < vocab_size:
            return draft.head(node)
    return draft


def forced(request: Request, budget: int) -> Draft:
    """Text that the grammar leaves no choice about is drafted without asking the drafter, if the rule takes such drafts."""
    tokens = request.matcher.forced(request.output)[:budget] if request.matcher is not None else []
    if not tokens:
        return EMPTY
    draft = Draft.chain(tokens)
    try:
        request.rule(draft)
    except RefusedError:
        return EMPTY
    return draft


def admitted(request: Request, draft: Draft) -> Draft:
    """Cut a chain before its first token that the grammar turns down; sampled drafts were drawn from a law that has none."""
    if request.matcher is None or not draft.is_chain or "sampled" in draft.origins:
        return draft
    valid = request.matcher.valid(request.output, draft.tokens)
    return draft.head(valid) if valid else EMPTY


def observe(request: Request, committed: Sequence[int], rows: object) -> None:
    """Tell the drafter what was committed, exactly that."""
    request.with_drafter(lambda drafter: drafter.observe(request, committed, rows), None)


def batch_of(requests: Sequence[Request], drafts: Sequence[Draft]) -> tuple[Batch, list[int]]:
    """Lay out one pass: for each request its last token, then its draft's nodes. Also gives each request's first row."""
    sequences: list[int] = []
    tokens: list[int] = []
    parents: list[int] = []
    firsts: list[int] = []
    for request, draft in zip(requests, drafts, strict=True):
        first = len(tokens)
        firsts.append(first)
        sequences += [request.sequence] * (len(draft) + 1)
        tokens += [request.tokens[-1], *draft.tokens]
        parents += [-1, *(first + 1 + parent for parent in draft.parents)]
    table = np.array(sequences + tokens + parents, np.int32).reshape(3, len(tokens))
    return Batch(table[0], table[1], table[2], np.array([True] * len(tokens))), firsts


def taps_of(requests: Sequence[Request]) -> tuple[int, ...]:
    """Hidden states that any drafter wants."""
    taps = [tap for request in requests if request.drafter for tap in request.drafter.needs.taps]
    return tuple(sorted(set(taps))) if taps else ()


def prefill(target: Model, request: Request) -> None:
    """Bring the cache up to all of the prompt but its last token, in passes of at most ``CHUNK`` rows."""
    begin = time.perf_counter()
    while (done := target.length(request.sequence)) < len(request.tokens) - 1 and not request.cancelled:
        chunk = request.tokens[done : min(done + CHUNK, len(request.tokens) - 1)]
        count = request.prompt_logprobs_wanted
        batch = Batch.chain(request.sequence, chunk, wanted="none" if count is None else "all")
        rows = target.forward(batch, taps=taps_of([request]))
        if count is not None:
            following = request.tokens[done + 1 : done + 1 + len(chunk)]
            request.prompt_logprobs += [logprob(rows, row, token, count) for row, token in enumerate(following)]
        target.keep(request.sequence, range(len(chunk)))
        observe(request, chunk, rows)
        request.statistics.passes += 1
        if request.on_prefill is not None:
            request.on_prefill(done + len(chunk), len(request.tokens) - 1)
    request.statistics.prefill_s += time.perf_counter() - begin
