"""The engine: a target model, a drafter and a rule, and the answers they make.

Everything a user says is checked here, once, before anything runs. Knows nothing of terminals or servers.

Examples
--------
>>> from headstart.toy import WORLDS
>>> world = WORLDS["two-word"]
>>> engine = Engine(world.model(), tokenizer=world.tokenizer())
>>> engine.generate("love", max_tokens=4, temperature=1.0, seed=7, raw=True).finish_reason
'length'
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from headstart import decode
from headstart.backends import load_backend
from headstart.coins import RoundCoins
from headstart.control import Controller
from headstart.draft import check_drafter, make_drafter, pair
from headstart.errors import InputError, RefusedError
from headstart.grammar import Matcher
from headstart.options import Options, check_int
from headstart.prefixes import PrefixCache
from headstart.protocols import Drafter, Model, Verifier
from headstart.request import Ends, Request
from headstart.result import Result
from headstart.stream import Stream
from headstart.text import TextStream
from headstart.tree import Draft, Origin
from headstart.verify import choose

__all__ = ["DEFAULT_MODEL", "Engine", "rule_of", "spoken"]

DEFAULT_MODEL = "smollm2-135m-instruct"

Prompt = str | Sequence[Mapping[str, Any]] | Sequence[int]
"""A text, a list of chat messages ({"role", "content"}), or token ids."""


class Engine:
    """A loaded model, ready to answer.

    Parameters
    ----------
    model : str, Path or Model
        A catalog name, a ``.gguf`` file, a Hugging Face folder, or any object with the ``Model`` protocol.
    tokenizer, chat_template
        For a ``Model`` object: how to turn text into its ids and back (its own ``tokenizer`` by default).
    drafter : str, Drafter or None
        ``"lookup"`` (default), ``"model"`` (with ``draft_model``), ``"none"``, or an object of your own.
    draft_model : str, Path, Model or None
        A second, smaller model; makes ``"model"`` the default drafter.
    draft_vocabulary : {"auto", "same", "intersection", "strings"}
        How the draft model's token ids are used: find out (default), as they are, among the tokens both vocabularies have, or
        by respelling its text. What was found is in ``Engine.note``.
    threads : int or None
        Threads of a pass; all available cores by default.
    context : int or None
        Positions that a request may use; the model's own limit by default.
    precision : {"auto", "float32"}
    backend : {"native", "reference"}
    **defaults
        Fields of ``Options``: what every request uses that does not say otherwise.

    Raises
    ------
    InputError, ModelError, DownloadError
        Where something given is not allowed or a model cannot be used; one sentence each.
    """

    def __init__(
        self,
        model: str | Path | Model = DEFAULT_MODEL,
        *,
        tokenizer: Any = None,
        chat_template: str | None = None,
        drafter: str | Drafter | None = None,
        draft_model: str | Path | Model | None = None,
        draft_vocabulary: str = "auto",
        threads: int | None = None,
        context: int | None = None,
        precision: str = "auto",
        backend: str = "native",
        **defaults: Any,
    ) -> None:
        self._defaults = Options.of(defaults)
        self._source = model

        def load(source: str | Path | Model) -> tuple[Model, Any, str | None, str]:
            return _load(source, threads=threads, context=context, precision=precision, backend=backend)

        self.model, own_tokenizer, own_template, self.name = load(model)
        self.tokenizer = tokenizer if tokenizer is not None else own_tokenizer
        self.chat_template = chat_template if chat_template is not None else own_template
        self._drafters: dict[str, Drafter] = {}
        self.note: str | None = None
        if draft_model is not None:
            draft, draft_tokenizer, _, _ = load(draft_model)
            self._drafters["model"], self.note = pair(
                self.model, self.tokenizer, draft, draft_tokenizer, vocabulary=draft_vocabulary
            )
        self._drafter = drafter if drafter is not None else ("model" if draft_model is not None else "lookup")
        self._controller = Controller()
        self._prefixes = PrefixCache(self.model)
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._drafter_for(self._drafter)

    def fingerprint(self) -> str | None:
        """Hash over the model's shape and weights; None for a model object, which has no file."""
        if not isinstance(self._source, (str, Path)):
            return None
        from headstart.models import load
        from headstart.models.fingerprint import fingerprint

        return fingerprint(load(self._source))

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the caches of finished answers; answers under way go on, and new ones may still be asked for."""
        with self._lock:
            self._prefixes.clear()
            for drafter in self._drafters.values():
                getattr(drafter, "free", lambda: None)()

    def encode(self, prompt: Prompt, *, raw: bool = False) -> list[int]:
        """Token ids of a prompt: a text is put into the model's chat template as the user's message unless ``raw``."""
        if isinstance(prompt, str) and (raw or self.chat_template is None):
            ids = self.tokenizer.encode(prompt)
            bos = [self.tokenizer.bos_id] if self.tokenizer.add_bos and self.tokenizer.bos_id is not None else []
            return [*bos, *ids]
        if isinstance(prompt, str):
            return self._encode_chat([{"role": "user", "content": prompt}])
        if isinstance(prompt, Mapping) or not hasattr(prompt, "__len__") or not hasattr(prompt, "__getitem__"):
            raise InputError(f"the prompt is {prompt!r:.60}; give a text, a list of messages, or a list of token ids")
        if len(prompt) and isinstance(prompt[0], Mapping):
            return self._encode_chat(prompt)  # type: ignore[arg-type]
        return self._check_ids(prompt)  # type: ignore[arg-type]

    def generate(self, prompt: Prompt, *, trace: str | Path | None = None, **options: Any) -> Result:
        """Answer a prompt.

        Parameters
        ----------
        prompt : str, list of messages, or list of int
        trace : str or Path, optional
            Write every decision into this file (docs/trace.md).
        **options
            Fields of ``Options``.

        Returns
        -------
        Result
        """
        with self.stream(prompt, trace=trace, **options) as stream:
            for _ in stream:
                pass
            return stream.result

    def stream(self, prompt: Prompt, *, trace: str | Path | None = None, **options: Any) -> Stream:
        """Answer a prompt piece by piece; the result is there when the pieces are through."""
        stream = self._stream(prompt, self._defaults.changed(options))
        if trace is not None:
            stream.record(Path(trace))
        return stream

    def generate_batch(
        self, prompts: Sequence[Prompt], *, each: Sequence[Mapping[str, Any]] = (), **options: Any
    ) -> list[Result]:
        """Answer several prompts in shared passes; each answer is the one it would be alone.

        ``each`` holds more options for every single prompt, if any.
        """
        if each and len(each) != len(prompts):
            raise InputError(
                f"each holds options for {len(each)} prompts and there are {len(prompts)}; give one for each"
            )
        shared = self._defaults.changed(options)
        chosen = [shared.changed(more) for more in each] or [shared] * len(prompts)
        return self._run([self._stream(prompt, own) for prompt, own in zip(prompts, chosen, strict=True)])

    def generate_choices(self, prompt: Prompt, count: int, **options: Any) -> list[Result]:
        """Answer one prompt ``count`` times, each choice with noise of its own; the prompt is read once.

        The first choice is what ``generate`` gives; at temperature 0 all are alike.
        """
        check_int("count", count, 1)
        chosen = self._defaults.changed(options)
        tokens = self.encode(prompt, raw=chosen.raw)
        seed = chosen.seed if chosen.seed is not None else secrets.randbits(63)
        chosen = chosen.changed({"seed": seed})
        return self._run([Stream(self, self._request(tokens, chosen, choice=n), chosen) for n in range(count)])

    def _stream(self, prompt: Prompt, options: Options) -> Stream:
        return Stream(self, self._request(self.encode(prompt, raw=options.raw), options), options)

    def _run(self, streams: Sequence[Stream]) -> list[Result]:
        try:
            for stream in streams:
                stream.start()
            while running := [stream for stream in streams if not stream.done]:
                self._step([stream.request for stream in running])
            for error in [stream.request.error for stream in streams if stream.request.error is not None]:
                raise error
            return [stream.result for stream in streams]
        finally:
            for stream in streams:
                stream.close()

    def _request(self, tokens: list[int], options: Options, *, choice: int = 0) -> Request:
        max_tokens, limit_reason = self._limit(tokens, options)
        if options.guarantee == "text" and not self.model.row_invariant:
            raise RefusedError(
                f"the guarantee 'text' needs a model whose rows are bit-equal in any company, and {self.model.numerics_id} "
                "is not one; use the guarantee 'law'"
            )
        seed = options.seed if options.seed is not None else secrets.randbits(63)
        own_ends = frozenset[int]() if options.ignore_eos else frozenset(self.tokenizer.eos_ids)
        ends = own_ends | frozenset(options.stop_token_ids)
        vocab_size = self.model.vocab_size
        matcher = Matcher(options.grammar, self.tokenizer, vocab_size) if options.grammar is not None else None
        request = Request(
            id=next(self._numbers),
            tokens=list(tokens),
            prompt_length=len(tokens),
            sampling=options.sampling(options.all_processors(matcher, ends, vocab_size)),
            ends=Ends(max_tokens, ends, limit_reason=limit_reason),
            text=TextStream(
                spoken(self.tokenizer),
                stops=options.stops,
                include_stop=options.include_stop,
                min_tokens=options.min_tokens,
            ),
            rule=rule_of(options),
            guarantee=options.guarantee,
            make_coins=lambda number: RoundCoins(seed, choice, number),
            seed=seed,
            drafter=self._drafter_for(options.drafter if options.drafter is not None else self._drafter),
            draft_length=options.draft_length,
            matcher=matcher,
            logprobs_wanted=options.logprobs,
            prompt_logprobs_wanted=options.prompt_logprobs,
        )
        request.statistics.prompt_tokens = len(tokens)
        if request.drafter is None:
            request.statistics.note = "drafting is off"
        elif options.draft_length == 0:
            request.statistics.note = "draft_length is 0"
        return request

    def _limit(self, tokens: Sequence[int], options: Options) -> tuple[int, str]:
        """How many tokens may be made, and what the limit is called."""
        if not tokens:
            raise InputError("the prompt is empty; give at least one token of text")
        room = self.model.context - len(tokens)
        if room < 1:
            raise InputError(
                f"the prompt has {len(tokens)} tokens and the context holds {self.model.context}, one of which must be "
                "left for the answer; shorten the prompt or raise the context"
            )
        if options.max_tokens is None or options.max_tokens > room:
            return room, "context"
        return options.max_tokens, "max_tokens"

    def _drafter_for(self, drafter: str | Drafter) -> Drafter | None:
        """The drafter of that name (made once), or the object given."""
        if not isinstance(drafter, str):
            return check_drafter(drafter)
        if drafter not in self._drafters and drafter != "none":
            self._drafters[drafter] = make_drafter(drafter)
        return self._drafters.get(drafter)

    def _encode_chat(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        from headstart.models.chat import encode_chat

        if self.chat_template is None:
            raise InputError("this model has no chat template; give the prompt as one text with raw=True")
        return list(encode_chat(self.tokenizer, self.chat_template, messages))

    def _check_ids(self, ids: Sequence[int]) -> list[int]:
        for at, token in enumerate(ids):
            whole = isinstance(token, (int, np.integer)) and not isinstance(token, bool)
            if not whole or not 0 <= token < self.model.vocab_size:
                raise InputError(
                    f"token {token!r} at index {at} of the prompt is not an id of this model, which are 0 to "
                    f"{self.model.vocab_size - 1}"
                )
        return [int(token) for token in ids]

    def _start(self, request: Request) -> None:
        with self._lock:
            if request.cancelled:
                return
            # every row of the prompt is wanted then, so none may be reused
            fresh = request.prompt_logprobs_wanted is not None
            request.sequence = self._prefixes.open(request.tokens, fresh=fresh)
            request.statistics.cached_tokens = self.model.length(request.sequence)
            request.with_drafter(lambda drafter: drafter.start(request), None)
            decode.prefill(self.model, request)

    def _step(self, requests: Sequence[Request]) -> None:
        with self._lock:
            if running := [request for request in requests if not request.over]:  # closed by another thread, say
                decode.step(self.model, running, self._controller)

    def _finish(self, request: Request) -> None:
        with self._lock:
            if request.sequence != -1:
                request.stop_drafting()
                self._prefixes.give_back(request.sequence)
                request.sequence = -1


def spoken(tokenizer: Any) -> Callable[[int], bytes]:
    """What each token adds to a text: its bytes, or nothing if it is special."""
    return cache(lambda token: b"" if token in tokenizer.special_ids else tokenizer.token_bytes(token))


def rule_of(options: Options) -> Callable[[Draft], Verifier]:
    """The verifier for each kind of draft; nothing drafted is verified by any rule, so a named one is not asked then."""

    @cache
    def chosen(origin: Origin | None, tree: bool) -> Verifier:
        if origin is None:
            return choose("certain", options.guarantee)
        return choose(origin, options.guarantee, tree=tree, name=options.verifier)

    def rule(draft: Draft) -> Verifier:
        verifier = chosen(draft.origins[0] if len(draft) else None, not draft.is_chain)
        if len(draft) and (reason := verifier.accepts(draft)) is not None:
            raise RefusedError(reason)
        return verifier

    return rule


def _load(source: str | Path | Model, **how: Any) -> tuple[Model, Any, str | None, str]:
    """A model, its tokenizer, its chat template and its name."""
    if not isinstance(source, (str, Path)):
        if not hasattr(source, "vocab_size") or not hasattr(source, "forward"):
            raise InputError(
                f"the model is {source!r:.60}; give a catalog name, a .gguf file, a Hugging Face folder, or an object with "
                "the Model protocol"
            )
        tokenizer = getattr(source, "tokenizer", None)
        return source, tokenizer, getattr(source, "chat_template", None), getattr(source, "name", type(source).__name__)
    from headstart.models import load

    weights = load(source)
    return load_backend(weights, **how), weights.tokenizer, weights.chat_template, weights.name
