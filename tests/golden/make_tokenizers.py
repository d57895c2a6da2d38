"""Make the tokenizer goldens beside this file: small vocabularies of each family, and the ids transformers gives for them.

Needs transformers and sentencepiece; run by hand, `python tests/golden/make_tokenizers.py`. The tests read only what it
leaves in `tokenizers/`: for each BPE family the `tokenizer.json` that transformers writes and its ids for awkward texts,
for SentencePiece the pieces as well, with the ids of the sentencepiece package itself.
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import transformers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, decoders, pre_tokenizers, trainers
from transformers import GPT2Tokenizer, LlamaTokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer
from transformers.convert_slow_tokenizer import TikTokenConverter, generate_merges

FOLDER = Path(__file__).parent / "tokenizers"
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
USER_DEFINED = ["<tool_call>", "<tool>"]
VOCAB = 640

TRAINING_TEXT = """
The weights of a model are read once in a pass, and every row of the pass uses them while they are there.
A small model guesses what the large one will say; the large one checks all of its guesses together.
Where a guess is wrong, the answer of the large model takes its place, and the next round begins there.
It's true that they're quick, we've seen it, and I'd say you'll agree that nobody's text has changed.
    def guess(tokens, count=4):
        for index in range(count):
            if tokens[index] == 0:
                return None  # nothing to say
        return tokens[-count:]
Numbers: 0, 1, 12, 123, 1234, 12345, 2024-11-29, 3.14159, 1e-6, 0x1F600.
Das Wetter ist schön, und der Fluß ist groß. Où est la bibliothèque? El niño comió una piña mañana.
今天天气很好，我们去公园散步吧。大模型检查小模型的猜测。速度更快，文字相同。
今日はとても良い天気ですね。大きなモデルが確かめます。
오늘 날씨가 정말 좋네요. Привет, как дела? Всё хорошо. Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم
"""

AWKWARD = [
    "",
    " ",
    "  ",
    "     five before",
    "trailing   ",
    " leading",
    "a",
    "\n",
    "\n\n\n",
    "\r\n line \r\n\r\n",
    "\t\ttabs\tand  spaces \n \n  mixed",
    "line\n    indented\n\n\n  again",
    "It's they're we've I'd you'll nobody's IT'S THEY'RE WE'VE I'D YOU'LL",
    "don't 'tis 'twas l'été",
    "0 12 123 1234 12345 1234567890",
    "3.14159 1e-6 0x1F600 2024-11-29 1,000,000 ½ ² ٣٤٥ 五六",
    "a1b22c333d4444",
    "...!!!???---___***",
    "!?\n!?\n\n",
    "if (x<=3&&y!=4){z+=1;} // done\n",
    "def guess(tokens, count=4):\n        return tokens[-count:]\n",
    "https://example.org/path?query=1&other=two#part",
    "naïve café Zürich Ångström",
    "cafe\u0301 A\u030angstro\u0308m",
    "ﬁ ﬂ Ⅷ ① ㎏ ﷺ",
    "今天天气很好，我们去公园散步吧。",
    "大模型check小模型の推測 mixed 文字",
    "오늘 날씨가 정말 좋네요",
    "Привет, как дела?",
    "שלום עולם مرحبا بالعالم",
    "👩‍🚀 🏳️‍🌈 👍🏽 🇨🇳🇩🇪 😀😀",
    "e\u0301\u0302\u0303\u0304 combining",
    "zero\u200bwidth\u200djoin\ufeffmark",
    "\u00a0no-break\u2003em\u3000ideographic space",
    "\u0000\u0001\u0007\u001b[31mred\u001b[0m\u007f",
    "\u0085next\u2028line\u2029paragraph",
    "\ufffd\uffff\U0010ffff",
    "ĠGĊ ▁under ▁▁ Ä",
    "<0x0A> <0xFF> <unk>",
    "<|endoftext|>",
    "before<|im_start|>user\nhi<|im_end|>\nafter",
    " <|im_end|> <|im_end|>  ",
    "<|im_end|",
    "|im_end|>",
    "<<|im_end|>>",
    "<|IM_END|>",
    "<s>hello</s> [INST] world [/INST]",
    '<tool_call>{"a": 1}</tool_call> <tool>x',
    "the the theThe THE tHe",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "          ",
    "word " * 40,
    "\U0001f600" * 5,
    "ا" * 7 + "\u0651",
    "x\u0338y\u0489z",
    "𝕳𝖊𝖑𝖑𝖔 𝟙𝟚𝟛",
]


def random_texts(count: int) -> list[str]:
    """Letters that the families treat differently, in random order."""
    rng = random.Random(1)
    single, longer = "aeT 's\n\r\t  .<|>1289éß١½▁\u00a0\u0301😀", ("the", "'ll", "你好", "<tool>", "<|im_end|>")
    letters = [*single, *longer]
    return ["".join(rng.choices(letters, k=rng.randint(2, 24))) for _ in range(count)]


TEXTS = AWKWARD + random_texts(150)


def trained_bpe(splitter: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary and merges of a byte-level BPE trained on the text above."""
    trainee = tokenizers.Tokenizer(tokenizers.models.BPE())
    trainee.pre_tokenizer = splitter
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False
    )
    trainee.train_from_iterator(TRAINING_TEXT.splitlines(keepends=True), trainer)
    model = json.loads(trainee.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def byte_level(pattern: str) -> Any:
    steps = [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    return pre_tokenizers.Sequence(steps)


def gpt2() -> Any:
    vocab, merges = trained_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    return GPT2Tokenizer(vocab=vocab, merges=merges)


def smollm() -> Any:
    """SmolLM's: GPT-2's, after every digit has been set apart."""
    splitter = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    vocab, merges = trained_bpe(splitter)
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges))
    backend.pre_tokenizer = splitter
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def llama3() -> Any:
    """As transformers converts Llama 3's; some tokens there are out of reach of the merges, one is added here."""
    splitter = byte_level(TikTokenConverter().pattern)
    vocab, merges = trained_bpe(splitter)
    vocab["Ġmodel"], vocab["Ġnowhere"] = vocab.get("Ġmodel", len(vocab)), len(vocab) + 1
    vocab = {token: index for index, token in enumerate(sorted(vocab, key=vocab.__getitem__))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, merges, fuse_unk=False, ignore_merges=True))
    backend.pre_tokenizer = splitter
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def qwen2() -> Any:
    vocab, merges = trained_bpe(Qwen2Tokenizer()._tokenizer.pre_tokenizer)
    return Qwen2Tokenizer(vocab=vocab, merges=merges)


def add_tokens(tokenizer: Any) -> None:
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIALS})
    tokenizer.add_tokens([tokenizers.AddedToken(token, normalized=False) for token in USER_DEFINED])


def ids_of(tokenizer: Any) -> list[dict[str, Any]]:
    """What transformers gives for each text, with special tokens as text and as themselves."""
    cases = []
    for text in TEXTS:
        tokenizer.backend_tokenizer.encode_special_tokens = True
        plain = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        tokenizer.backend_tokenizer.encode_special_tokens = False
        special = tokenizer(text, add_special_tokens=False)["input_ids"]
        cases.append({"text": text, "plain": plain, "special": special})
    return cases


def write(name: str, tokenizer_json: str, cases: list[dict[str, Any]], **more: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    content = {"made_with": made_with(), **more, "tokenizer": json.loads(tokenizer_json), "cases": cases}
    (FOLDER / f"{name}.json").write_text(json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n")


def made_with() -> str:
    return ", ".join(f"{m.__name__} {m.__version__}" for m in (transformers, tokenizers, sentencepiece))


def make_bpe(name: str, tokenizer: Any) -> None:
    add_tokens(tokenizer)
    write(name, tokenizer.backend_tokenizer.to_str(), ids_of(tokenizer))


def make_sentencepiece() -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TRAINING_TEXT.splitlines()),
        model_writer=model,
        model_type="bpe",
        vocab_size=900,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_digits=True,
        character_coverage=0.995,
        control_symbols=["[INST]", "[/INST]"],
        user_defined_symbols=USER_DEFINED,
        minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    pieces = [{"piece": p.piece, "score": p.score, "type": p.type} for p in proto.pieces]
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    own = [{"text": text, "plain": processor.encode(text)} for text in TEXTS]

    vocab = {p["piece"]: index for index, p in enumerate(pieces)}
    merges = generate_merges(vocab, {p["piece"]: p["score"] for p in pieces if p["type"] == 1})
    llama = LlamaTokenizer(vocab=vocab, merges=merges)
    llama.add_special_tokens({"additional_special_tokens": ["[INST]", "[/INST]"]})
    llama.add_tokens([tokenizers.AddedToken(token, normalized=False) for token in USER_DEFINED])
    write("llama-spm", llama.backend_tokenizer.to_str(), ids_of(llama), pieces=pieces, sentencepiece=own)


if __name__ == "__main__":
    for name, make in (("gpt-2", gpt2), ("smollm", smollm), ("llama-bpe", llama3), ("qwen2", qwen2)):
        make_bpe(name, make())
    make_sentencepiece()
