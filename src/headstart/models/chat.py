"""Chat templates: messages to text in a sandbox, and to token ids in which no message can forge a special token.

It does not know how text becomes ids; the tokenizer does.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from headstart.errors import InputError

if TYPE_CHECKING:
    import jinja2

    from headstart.models.tokenizer import Tokenizer

__all__ = ["encode_chat", "render"]

_Message = Mapping[str, Any]

_ROLE = re.compile(r"[\w.-]+")
_PRIVATE_USE = range(0xE000, 0xF900)


def render(
    template: str,
    messages: Sequence[_Message],
    *,
    add_generation_prompt: bool = True,
    bos_token: str = "",
    eos_token: str = "",
    variables: Mapping[str, Any] | None = None,
) -> str:
    """Text of a conversation, as the model was trained to see it.

    Parameters
    ----------
    template : str
        Jinja2, in the dialect that Hugging Face uses. It runs in a sandbox.
    messages : sequence of mapping
        Each with ``role``, a word, and ``content``: a text, a list of parts ``{"type": "text", "text": ...}``, or
        None in a message with ``tool_calls``. Other keys are passed on.
    add_generation_prompt : bool
        End with the beginning of the assistant's answer.
    bos_token, eos_token : str
    variables : mapping, optional
        What else the template may use, such as ``tools`` or ``enable_thinking``.

    Returns
    -------
    str

    Raises
    ------
    InputError
        The messages are malformed, or the template turns them down.

    Examples
    --------
    >>> render("{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}", [{"role": "user", "content": "Hi"}])
    '[user] Hi'
    """
    known = {"tools": None, "documents": None} | dict(variables or {})
    known |= {"add_generation_prompt": add_generation_prompt, "bos_token": bos_token, "eos_token": eos_token}
    try:
        return _compiled(template).render(messages=_checked(messages), **known)
    except InputError:
        raise
    except Exception as error:  # whatever a template does wrong; it is a program from a file
        raise InputError(f"The model's chat template turns these messages down: {str(error).rstrip('.')}.") from error


def encode_chat(
    tokenizer: Tokenizer,
    template: str,
    messages: Sequence[_Message],
    *,
    add_generation_prompt: bool = True,
    variables: Mapping[str, Any] | None = None,
) -> list[int]:
    """Token ids of a conversation.

    Special tokens are those that the template writes. The same characters inside a message stay ordinary text, so a
    message cannot end its own turn.

    Parameters
    ----------
    tokenizer : Tokenizer
    template, messages, add_generation_prompt, variables
        As for ``render``.

    Returns
    -------
    list of int
        Without ``bos_id``, unless the template writes it.

    Raises
    ------
    InputError

    Notes
    -----
    The conversation is rendered a second time with every character that could begin a special token replaced inside
    the messages, so that all special tokens of that text are the template's own. If both texts have the same special
    tokens, no message held one, and the first is encoded as it is. If not, the second is encoded, piece by piece
    between its special tokens, with the characters put back. Templates that look for such characters inside messages
    then do not find them; only conversations with forged tokens are affected.
    """
    write = functools.partial(
        render,
        template,
        add_generation_prompt=add_generation_prompt,
        bos_token=_text_of(tokenizer, tokenizer.bos_id),
        eos_token=_text_of(tokenizer, tokenizer.eos_id),
    )
    given: dict[str, Any] = {"messages": _checked(messages), "variables": dict(variables or {})}
    text = write(**given)
    masks = _masks(tokenizer, template + text, "".join(_strings(given)))
    if not masks:
        return tokenizer.encode(text, special=True)
    guarded = write(**_mapped(given, lambda value: value.translate(masks)))
    spans = tokenizer.special_spans(guarded)
    if [token for token, _, _ in spans] == [token for token, _, _ in tokenizer.special_spans(text)]:
        return tokenizer.encode(text, special=True)
    return _encode_pieces(tokenizer, guarded, spans, {mask: letter for letter, mask in masks.items()})


def _encode_pieces(
    tokenizer: Tokenizer, text: str, spans: Sequence[tuple[int, int, int]], unmask: Mapping[int, int]
) -> list[int]:
    ids: list[int] = []
    done = 0
    for token, begin, end in spans:
        ids += tokenizer.encode(text[done:begin].translate(unmask), start=done == 0)
        ids.append(token)
        done = end
    return ids + tokenizer.encode(text[done:].translate(unmask), start=done == 0)


def _masks(tokenizer: Tokenizer, template_text: str, given_text: str) -> dict[int, int]:
    """Stand-ins, used nowhere else, for those first letters of special tokens that occur in what was given."""
    letters = sorted({text[0] for text in tokenizer.special_tokens} & set(given_text))
    taken = set(template_text) | set(given_text)
    free = (code for code in _PRIVATE_USE if chr(code) not in taken)
    return dict(zip(map(ord, letters), free, strict=False))


def _text_of(tokenizer: Tokenizer, token: int | None) -> str:
    return "" if token is None else tokenizer.token_bytes(token).decode(errors="replace")


def _checked(messages: Any) -> list[dict[str, Any]]:
    """Messages as plain dictionaries with text contents."""
    if isinstance(messages, str) or not isinstance(messages, Sequence) or not messages:
        raise InputError("A conversation must be a list of at least one message.")
    return [_checked_message(index, message) for index, message in enumerate(messages)]


def _checked_message(index: int, message: Any) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise InputError(f"Message {index} is {type(message).__name__}; give an object with role and content.")
    role = message.get("role")
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise InputError(f"Message {index} has the role {role!r}; give a word such as system, user or assistant.")
    content = message.get("content")
    if content is None and message.get("tool_calls"):
        return dict(message) | {"content": None}
    return dict(message) | {"content": _content_text(index, content)}


def _content_text(index: int, content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise InputError(f"Message {index} has no text: its content is {type(content).__name__}; give a string.")
    for part in content:
        if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise InputError(f"Message {index} holds a part that is not text; only text is supported.")
    return "\n".join(part["text"] for part in content)


def _strings(value: Any) -> list[str]:
    """All texts in nested data, roles and keys that are plain names left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        keys = [key for key in value if isinstance(key, str) and not key.isidentifier()]
        return keys + [text for key, entry in value.items() if key != "role" for text in _strings(entry)]
    if isinstance(value, Sequence):
        return [text for entry in value for text in _strings(entry)]
    return []


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Nested data with every text of ``_strings`` changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_mapped_key(key, change): v if key == "role" else _mapped(v, change) for key, v in value.items()}
    if isinstance(value, Sequence):
        return [_mapped(entry, change) for entry in value]
    return value


def _mapped_key(key: Any, change: Callable[[str], str]) -> Any:
    return key if not isinstance(key, str) or key.isidentifier() else change(key)


@functools.lru_cache(maxsize=8)
def _compiled(template: str) -> jinja2.Template:
    return _environment().from_string(template)


@functools.cache
def _environment() -> jinja2.Environment:
    """The dialect of Hugging Face's templates."""
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.add_extension(_generation_tag())
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
    return environment


def _generation_tag() -> type[jinja2.ext.Extension]:
    """``{% generation %}`` marks the assistant's words for training; here its body is just rendered."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    return Generation


def _to_json(value: Any, **options: Any) -> str:
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _raise_exception(message: str) -> NoReturn:
    raise ValueError(message)


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)
