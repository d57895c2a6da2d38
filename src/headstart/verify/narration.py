"""Words of ``python -m headstart.verify``, by language: the same keys and the same placeholders in each."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["WORDS"]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "One round in the three-word world: {length} words drafted, rule {rule}, seed {seed}.",
        "target": "p, the target: what must come out",
        "draft": "q, the draft: a cheap guess",
        "drafting": "1. The draft guesses. Each word is drawn from q by a coin of its own.",
        "foreseeing": "1. The draft guesses, by the very noise the target will sample by.",
        "judging": "2. One pass of the target gives its law after every guess. The rule decides, word by word.",
        "propose": "propose {node}: u = {u:.4f} falls on {word} among {parts}",
        "accept": "accept {node}: {word} is kept if u * {denominator} < {numerator}, chance {chance}; u = {u:.4f}: {verdict}",
        "kept": "kept",
        "lost": "lost",
        "leftover": "what p has left: mass {mass}, divided by it {law}",
        "recover": "recover: u = {u:.4f} falls on {word} among {parts}",
        "race": "position {position}: the smallest -log(U) / weight of {times} is {word}'s",
        "written": "3. Written: {words} ({kept} kept, then one {kind}).",
        "recovered": "recovered",
        "bonus": "bonus",
        "proof": "4. This was one seed. Down every branch, with its weight, the first word is {law}: exactly p.",
        "help": "Tell one round of speculative decoding, every coin and its reason.",
        "help_seed": "seed of the coins (default: 2, where token rejection loses what block verification keeps)",
    },
    "zh": {
        "title": "三词世界里的一轮：起草 {length} 个词，规则 {rule}，种子 {seed}。",
        "target": "p，目标模型：结果必须服从它",
        "draft": "q，草稿模型：便宜的猜测",
        "drafting": "1. 草稿先猜。每个词用它自己的一枚硬币从 q 中抽取。",
        "foreseeing": "1. 草稿先猜，用的正是目标将要采样的那份噪声。",
        "judging": "2. 目标跑一遍，得到每个猜测之后的分布。规则逐词裁决。",
        "propose": "起草 {node}：u = {u:.4f}，落在 {parts} 中 {word} 的那一段",
        "accept": "验收 {node}：若 u * {denominator} < {numerator} 则留下 {word}，概率 {chance}；u = {u:.4f}：{verdict}",
        "kept": "留下",
        "lost": "拒绝",
        "leftover": "p 剩下的部分：总量 {mass}，归一化后 {law}",
        "recover": "补抽：u = {u:.4f}，落在 {parts} 中 {word} 的那一段",
        "race": "位置 {position}：{times} 中 -log(U) / 权重 最小的是 {word}",
        "written": "3. 写下：{words}（留下 {kept} 个，再加一个{kind}）。",
        "recovered": "修正词",
        "bonus": "白送词",
        "proof": "4. 这只是一个种子。沿所有分支连同权重走遍，第一个词的分布是 {law}：恰好等于 p。",
        "help": "讲述一轮投机解码：每一枚硬币和它的理由。",
        "help_seed": "硬币的种子（默认 2：逐词规则拒绝的词，块验证留了下来）",
    },
}
