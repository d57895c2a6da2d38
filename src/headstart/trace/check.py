"""Checking a trace: every decision is made again from the numbers that it was made from.

Knows nothing of models: whether a law is the model's own is asked in ``recompute``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.coins import STREAMS, uniform, words
from headstart.errors import HeadstartError, TraceError
from headstart.trace.numbers import spread
from headstart.trace.read import StoredLaw, Trace, draft_of, laws_of, read
from headstart.trace.record import WatchedCoins
from headstart.trace.rules import RULES, Decision
from headstart.tree import ROOT, Draft
from headstart.verify import GUARANTEES, VERIFIERS

__all__ = ["Report", "check", "check_trace"]


@dataclass
class Report:
    """What was checked: rounds, coins, laws; and how many rounds had laws too wide to be judged whole by their rule."""

    rounds: int = 0
    tokens: int = 0
    coins: int = 0
    laws: int = 0
    coins_only: int = 0


@dataclass
class _State:
    """The answer as far as it was checked."""

    header: Mapping[str, Any]
    vocab_size: int
    seed: int
    choice: int
    tokens: list[int]
    prompt_length: int
    drafted: int = 0
    accepted: int = 0
    report: Report = field(default_factory=Report)


def check(path: Path) -> Report:
    """Check a trace file.

    Raises
    ------
    TraceError
        Naming the first record that is malformed or does not follow.
    """
    return check_trace(read(path))


def check_trace(trace: Trace) -> Report:
    """Check a trace: every round after the other, then its ending."""
    state: _State = _guarded("the header", _begin, trace.header)
    for number, record in enumerate(trace.rounds):
        last = number == len(trace.rounds) - 1
        _guarded(f"round {number} (line {number + 2})", _check_round, state, number, record, last)
    _guarded("the result", _check_result, state, trace)
    return state.report


def _guarded(where: str, step: Any, *args: Any) -> Any:
    """Run one step and say where it failed."""
    try:
        return step(*args)
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        AssertionError,
        ArithmeticError,
        HeadstartError,
    ) as error:
        problem = f"has no {error}" if type(error) is KeyError else str(error)
        raise TraceError(f"{where} does not follow: {problem}") from None


def _begin(header: Mapping[str, Any]) -> _State:
    vocab_size, prompt, seed = header["model"]["vocab_size"], list(header["prompt"]), int(header["seed"])
    if not prompt or not all(isinstance(token, int) and 0 <= token < vocab_size for token in prompt):
        raise TraceError("its prompt is empty or holds what is not a token id")
    if not 0 <= seed < 2**64:
        raise TraceError(f"its seed {seed} is not from 0 to 2**64 - 1")
    return _State(header, vocab_size, seed, header["choice"], prompt, len(prompt))


def _check_round(state: _State, number: int, record: Mapping[str, Any], last: bool) -> None:
    """Make one round's decision again."""
    if record["round"] != number or record["position"] != len(state.tokens):
        raise TraceError(
            f"it says round {record['round']} at position {record['position']}, but round {number} begins at position "
            f"{len(state.tokens)}"
        )
    draft = draft_of(record, state.vocab_size)
    laws, draft_laws = laws_of(record["laws"], state.vocab_size), laws_of(record["draft_laws"], state.vocab_size)
    decision = Decision(draft, laws, draft_laws, record, state.seed, state.choice)
    for coin in record["coins"]:
        _check_coin(state, number, coin)
        _check_proposal(draft, draft_laws, coin)
    _check_verdict(draft, record["verdict"])
    _check_rule(state, decision, number)
    state.report.rounds += 1
    state.report.coins += len(record["coins"])
    state.report.laws += len(laws) + len(draft_laws)
    _commit(state, draft, record, last)


def _check_coin(state: _State, number: int, coin: Mapping[str, Any]) -> None:
    """Redo one coin: its uniform from its key, and what it decided."""
    choice_key = words((state.seed & 0xFFFFFFFF, state.seed >> 32), (state.choice, 0))
    stream = coin["stream"]
    if stream == "target":
        key, counter = words(choice_key, (coin["position"], 1)), (coin["token"], 0)
    else:
        key, counter = words(choice_key, (number, 2)), (coin["node"] + 1, STREAMS[stream])
    if coin["u"] != uniform(*words(key, counter)):
        raise TraceError(f"the {stream} coin's uniform {coin['u']!r} is not that of its key")
    if stream == "accept" and coin["accepted"] != _wins(coin["u"], coin["numerator"], coin["denominator"]):
        raise TraceError(
            f"node {coin['node']} is {'' if coin['accepted'] else 'not '}accepted with u {coin['u']!r} against "
            f"{coin['numerator']!r} / {coin['denominator']!r}"
        )
    if stream in ("recover", "propose"):
        _check_draw(coin)


def _wins(u: float, numerator: float, denominator: float) -> bool:
    return 0 < denominator <= numerator or u * denominator < numerator


def _check_draw(coin: Mapping[str, Any]) -> None:
    """``before <= u < before + at``; a u that the total falls short of by rounding belongs to the last token of any weight."""
    mark, after = coin["u"], coin["before"] + coin["at"]
    inside = coin["before"] <= mark < after or (mark >= after == coin["total"] and coin["before"] < after)
    if not inside or not after <= coin["total"]:
        raise TraceError(
            f"{mark!r}, the {coin['stream']} coin's mark, is not in token {coin['token']}'s part from {coin['before']!r} to {after!r}"
        )


def _check_proposal(draft: Draft, draft_laws: Mapping[int, StoredLaw], coin: Mapping[str, Any]) -> None:
    """A sampled node's token is the one its coin draws from its law."""
    if coin["stream"] != "propose":
        return
    node, stored = coin["node"], draft_laws[coin["node"]]
    if draft.tokens[node] != coin["token"] or stored.prob(coin["token"]) != coin["at"]:
        raise TraceError(f"node {node} is not the token that its coin drew from its law")
    if stored.whole and any(coin[name] != value for name, value in spread(stored.law, coin["token"]).items()):
        raise TraceError(f"node {node} was drawn by sums that are not those of its law")


def _check_verdict(draft: Draft, verdict: Mapping[str, Any]) -> None:
    """The path goes down from the root, and the kind is what its end makes it."""
    path = verdict["path"]
    if [draft.parents[node] for node in path] != [ROOT, *path[:-1]][: len(path)] or any(node < 0 for node in path):
        raise TraceError(f"{path} is not a path of the draft")
    end = path[-1] if path else ROOT
    kind = "plain" if not len(draft) else "recovered" if draft.children(end) else "bonus"
    if verdict["kind"] != kind:
        raise TraceError(f"the token after the path is {verdict['kind']}; it must be {kind}")


def _check_rule(state: _State, decision: Decision, number: int) -> None:
    """Let the rule decide again: by its formula where that is written out, by its own code where all laws are whole."""
    name = decision.record["verifier"]
    verifier, asked = VERIFIERS[name], state.header["guarantee"]
    if GUARANTEES.index(verifier.guarantee) < GUARANTEES.index(asked):
        raise TraceError(f"{name} verification is {verifier.guarantee}, less than the guarantee {asked!r}")
    if (refusal := verifier.accepts(decision.draft)) is not None:
        raise TraceError(refusal)
    if name in RULES:
        RULES[name](decision)
        decision.check_all_used()
    stored = [*decision.laws.values(), *decision.draft_laws.values()]
    if not all(law.whole for law in stored):
        state.report.coins_only += name not in RULES
        return
    coins = WatchedCoins(state.seed, state.choice, number)
    position = decision.record["position"]
    verdict = verifier.verify(decision.draft, lambda node: decision.law(node).law, coins, position)
    given = decision.record["verdict"]
    if [list(verdict.path), verdict.token, verdict.kind] != [given["path"], given["token"], given["kind"]]:
        raise TraceError(
            f"{name} verification keeps {list(verdict.path)} and then token {verdict.token}, not what it says"
        )
    drawn = [entry for _, entry in coins.drawn]
    if drawn != [coin for coin in decision.record["coins"] if coin["stream"] != "propose"]:
        raise TraceError(f"{name} verification draws other coins than it says")


def _commit(state: _State, draft: Draft, record: Mapping[str, Any], last: bool) -> None:
    """What was committed begins what the verdict keeps, and is cut only where the answer ends."""
    kept = [*(draft.tokens[node] for node in record["verdict"]["path"]), record["verdict"]["token"]]
    committed = record["committed"]
    if not committed or committed != kept[: len(committed)]:
        raise TraceError(f"it commits {committed}, but its verdict keeps {kept}")
    if len(committed) < len(kept) and not last:
        raise TraceError(f"it commits {len(committed)} of {len(kept)} kept tokens, though the answer goes on")
    state.tokens += committed
    state.drafted += len(draft)
    state.accepted += min(len(committed), len(kept) - 1)
    state.report.tokens += len(committed)


def _check_result(state: _State, trace: Trace) -> None:
    """Counts, ending and text."""
    output, result = state.tokens[state.prompt_length :], trace.result
    counts = {
        "rounds": len(trace.rounds),
        "tokens": len(output),
        "tokens_drafted": state.drafted,
        "tokens_accepted": state.accepted,
    }
    for name, count in counts.items():
        if result[name] != count:
            raise TraceError(f"{name} is {result[name]}; its rounds make {count}")
    if trace.timings is not None and len(trace.timings["rounds"]) != len(trace.rounds):
        raise TraceError(f"{len(trace.timings['rounds'])} rounds were timed")
    _check_ending(state.header, result, output)
    _check_text(result, output)


def _check_ending(header: Mapping[str, Any], result: Mapping[str, Any], output: Sequence[int]) -> None:
    reason, stop, ends = result["finish_reason"], result["stop_reason"], set(header["eos_ids"])
    if any(token in ends for token in output[:-1]) or len(output) > header["max_tokens"]:
        raise TraceError("the answer goes on beyond its end")
    ended = output[-1] if output and output[-1] in ends else None
    full = ended is None and len(output) == header["max_tokens"]
    possible = {
        "stop": (ended is not None and stop == ended) or (ended is None and isinstance(stop, str)),
        "length": full and stop in ("max_tokens", "context"),
        "cancelled": ended is None and not full and stop is None,
        "error": ended is None and not full and stop is None,
    }
    if not possible.get(reason, False):
        raise TraceError(f"it ends by {reason!r} ({stop!r}), which its tokens do not")


def _check_text(result: Mapping[str, Any], output: Sequence[int]) -> None:
    """The text is that of the tokens, up to the stop string that the last of them completed."""
    text, stop = _spoken(result, output), result["stop_reason"]
    if result["finish_reason"] == "stop" and isinstance(stop, str):
        before = len(_spoken(result, output[:-1]))
        cuts = [at for at in range(len(text)) if text.startswith(stop, at) and at + len(stop) > before]
        possible = [text[:cut] for at in cuts for cut in (at, at + len(stop))]
    else:
        possible = [text]
    if result["text"] not in possible:
        raise TraceError("its text is not that of its tokens")


def _spoken(result: Mapping[str, Any], tokens: Sequence[int]) -> str:
    vocabulary, silent = result["vocabulary"], set(result["special_ids"])
    if isinstance(result["stop_reason"], int):
        silent.add(result["stop_reason"])
    texts = [vocabulary[str(token)] for token in tokens if token not in silent]
    raw = b"".join(text.encode() if isinstance(text, str) else bytes(text) for text in texts)
    return raw.decode("utf-8", "replace")
