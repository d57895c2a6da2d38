"""The registry: every bug by name, what is wrong with it, where it comes from, and which world shows it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from headstart.draft.draw import sampled_tree
from headstart.protocols import Coins
from headstart.toy import Rule
from headstart.tree import ROOT, Draft
from headstart.verify.block import Block
from headstart.verify.broken import chains, drafts, faults, noise
from headstart.verify.broken.blocks import BrokenBlock
from headstart.verify.broken.bug import Bug, chain
from headstart.verify.broken.trees import BrokenTree, SampleEveryPath
from headstart.verify.lossy import LossyLenience, LossyTypical
from headstart.verify.multi_step import MultiStep
from headstart.verify.token import TokenRejection

__all__ = [
    "ZOO",
    "siblings",
    "two_leaves",
]


def siblings(law_of: Rule, coins: Coins) -> Draft:
    """Two guesses for one place, the second drawn after the first was removed."""
    return sampled_tree(law_of, [2], coins)


def two_leaves(law_of: Rule, coins: Coins) -> Draft:  # noqa: ARG001 - a draft without laws or randomness
    """The first two words, for certain."""
    return Draft((0, 1), (ROOT, ROOT), ("certain",) * 2, (None,) * 2)


_CHAINS = (
    Bug(
        name="redraw-from-p",
        kind="law",
        wrong="After a rejection the token is drawn from p, not from what p has above q.",
        source="transformers 47932; the commonest mistake",
        world="two-word",
        verifier=lambda: chains.BrokenChain("redraw-from-p", fix=chains.redraw),
    ),
    Bug(
        name="redraw-without-x",
        kind="law",
        wrong="After a rejection the token is drawn from p without the rejected one.",
        source="right for certain drafts only; two words cannot show it",
        world="break-it",
        verifier=lambda: chains.BrokenChain("redraw-without-x", fix=chains.without_token),
    ),
    Bug(
        name="redraw-argmax",
        kind="law",
        wrong="After a rejection the target's likeliest token is taken.",
        source="greedy code reused for sampling; two words cannot show it",
        world="three-word",
        verifier=lambda: chains.BrokenChain("redraw-argmax", fix=chains.argmax),
    ),
    Bug(
        name="residual-softmax",
        kind="law",
        wrong="The residual's masses go through a softmax before the draw.",
        source="logits and probabilities mixed up",
        world="two-word",
        verifier=lambda: chains.BrokenChain("residual-softmax", fix=chains.softmax_residual),
    ),
    Bug(
        name="always-accept",
        kind="law",
        wrong="Every draft is kept.",
        source="an upper bound on speed that is no decoder",
        world="two-word",
        verifier=lambda: chains.BrokenChain("always-accept", accept=chains.always),
    ),
    Bug(
        name="skip-the-coin",
        kind="law",
        wrong="A draft is kept exactly if p(x) >= q(x), without a coin.",
        source="greedy thinking about ratios",
        world="two-word",
        verifier=lambda: chains.BrokenChain("skip-the-coin", accept=chains.no_coin),
    ),
    Bug(
        name="fixed-threshold",
        kind="law",
        wrong="A draft is kept if p(x) passes a fixed threshold.",
        source="confidence taken for acceptance",
        world="two-word",
        verifier=lambda: chains.BrokenChain("fixed-threshold", accept=chains.threshold(0.25)),
    ),
    Bug(
        name="off-by-one-row",
        kind="law",
        wrong="A token is judged by the row after it; worlds without memory cannot show it.",
        source="row P[i] in place of P[i-1]",
        world="markov",
        verifier=lambda: chains.BrokenChain("off-by-one-row", late=True),
    ),
    Bug(
        name="bonus-from-residual",
        kind="law",
        wrong="The bonus is drawn from the residual of the last drafted token.",
        source="one code path for both ends of a round",
        world="three-word",
        verifier=lambda: chains.BrokenChain("bonus-from-residual", bonus=chains.residual_again),
    ),
    Bug(
        name="bonus-from-wrong-row",
        kind="law",
        wrong="The bonus is drawn from the row before the last drafted token; it comes K+1st, so shorter windows are blind.",
        source="rows counted from the draft, not from the text",
        world="markov",
        verifier=lambda: chains.BrokenChain("bonus-from-wrong-row", bonus=chains.parent_row),
    ),
    Bug(
        name="q-at-another-temperature",
        kind="law",
        wrong="The ratio uses q at half the temperature it was drawn at.",
        source="EAGLE 50",
        world="two-word",
        verifier=lambda: chains.BrokenChain("q-at-another-temperature", seen=chains.squared),
    ),
    Bug(
        name="top-p-on-one-side",
        kind="law",
        wrong="The ratio uses q after top-p though the token was drawn before it.",
        source="transformers 28508; filters applied to one of the two laws",
        world="three-word",
        verifier=lambda: chains.BrokenChain("top-p-on-one-side", seen=chains.nucleus),
    ),
    Bug(
        name="lenience",
        kind="law",
        wrong="A draft is kept with min(1, p / (0.5 q)): lossy by design.",
        source="Leviathan et al. 2023, A.5; shipped as lossy-lenience",
        world="two-word",
        verifier=lambda: LossyLenience(Fraction(1, 2)),
    ),
    Bug(
        name="typical",
        kind="law",
        wrong="A draft is kept if p(x) > min(0.3, 0.09 exp(-H)): lossy by design.",
        source="Medusa; shipped as lossy-typical",
        world="two-word",
        verifier=LossyTypical,
    ),
)

_DRAFTS = (
    Bug(
        name="softmax-q-of-argmax",
        kind="law",
        wrong="The drafter takes its likeliest token but hands over the law it did not draw from.",
        source="acceptance looks twice as good as it is",
        world="two-word",
        redraft=drafts.argmax_as_sampled,
        draw=chain(1),
        window=2,
    ),
    Bug(
        name="drop-after-draw",
        kind="law",
        wrong="A drawn token is left out where the drafter turns out not to be sure of it.",
        source="DSpark, appendix A: (.85, .15) in place of (.7, .3)",
        world="two-word",
        redraft=drafts.drop_after_draw,
    ),
    Bug(
        name="prune-after-draw",
        kind="law",
        wrong="A grammar removes a sampled token after it was drawn, not from the law before.",
        source="masks applied to the draft, not to the law it is drawn from",
        world="grammar",
        redraft=lambda: drafts.prune_after_draw({2}),
    ),
    Bug(
        name="stale-q",
        kind="law",
        wrong="The stored law is that of the draft before: the drafter has moved on.",
        source="online drafters that learn between draw and verdict",
        world="markov",
        redraft=drafts.stale_laws,
        rounds=2,
        window=4,
    ),
)

_BLOCKS = (
    Bug(
        name="block-early-stop",
        kind="law",
        wrong="Block verification stops at the first coin it loses, so nothing can be rescued.",
        source="demanded by a review of vllm-ascend 11985",
        world="two-word",
        verifier=lambda: BrokenBlock("block-early-stop", stop_early=True),
        draw=chain(3),
        window=4,
    ),
    Bug(
        name="block-wrong-chance",
        kind="law",
        wrong="A stopping place is taken with the product of ratios, the remaining mass left out.",
        source="h = w in place of S / (S + 1 - w)",
        world="two-word",
        verifier=lambda: BrokenBlock("block-wrong-chance", forget_rest=True),
        draw=chain(3),
        window=4,
    ),
    Bug(
        name="block-wrong-residual",
        kind="law",
        wrong="The correction comes from max(p - q, 0), p not scaled; two words cannot show it.",
        source="token rejection's residual reused",
        world="three-word",
        verifier=lambda: BrokenBlock("block-wrong-residual", unscaled=True),
        draw=chain(3),
        window=4,
    ),
    Bug(
        name="block-uncapped",
        kind="law",
        wrong="The whole draft is kept with the product of raw ratios, not capped on the way.",
        source="HSD (arXiv:2601.05724) as released",
        world="thirds",
        verifier=lambda: BrokenBlock("block-uncapped", uncapped=True),
    ),
)

_TREES = (
    Bug(
        name="tree-original-q",
        kind="law",
        wrong="Siblings drawn without replacement are judged by the law before their elders were removed.",
        source="the stored law is one for all children",
        world="three-word",
        verifier=lambda: BrokenTree("tree-original-q", original=True),
        draw=siblings,
        window=2,
    ),
    Bug(
        name="tree-residual-forgotten",
        kind="law",
        wrong="Every sibling is tested against p, not against what its elders left of it.",
        source="token rejection in a loop",
        world="three-word",
        verifier=lambda: BrokenTree("tree-residual-forgotten", forget=True),
        draw=siblings,
        window=2,
    ),
    Bug(
        name="sample-every-path",
        kind="law",
        wrong="The target is sampled once for every path, and the longest match wins.",
        source="Medusa's reference masks",
        world="three-word",
        verifier=lambda: SampleEveryPath("sample-every-path"),
        draw=two_leaves,
        window=2,
    ),
)

_NOISE = (
    Bug(
        name="draft-noise-reused",
        kind="noise",
        wrong="The correction is drawn by the very noise that drew the rejected token.",
        source="vllm 54282: 63.0 % in place of 60 %",
        world="three-word",
        coins=noise.shared,
        draw=chain(1),
        window=1,
    ),
    Bug(
        name="accept-coin-reused",
        kind="noise",
        wrong="The correction is picked by the uniform that has just turned the draft down.",
        source="one uniform for test and replacement",
        world="three-word",
        verifier=lambda: noise.fix_by_accept(TokenRejection()),
        draw=chain(1),
        window=1,
    ),
    Bug(
        name="siblings-share-a-coin",
        kind="noise",
        wrong="All children of a node are tested by one accept coin.",
        source="one uniform a node, not one a child",
        world="three-word",
        verifier=lambda: noise.one_for_siblings(MultiStep()),
        draw=siblings,
        window=1,
    ),
    Bug(
        name="keyed-by-position",
        kind="noise",
        wrong="Coins of block verification are keyed by position alone, so the next round meets those that this one looked at and did not use.",
        source="position-keyed generators; P(love) 53/90 in place of 3/5 at the third word",
        world="two-word",
        verifier=Block,
        coins=noise.by_position,
        draw=chain(3),
        rounds=3,
        window=3,
    ),
)

ZOO: Mapping[str, Bug] = MappingProxyType(
    {bug.name: bug for bug in (*_CHAINS, *_DRAFTS, *_BLOCKS, *_TREES, *_NOISE, *faults.FAULTS)}
)
"""Every bug by name. None of them is a verifier that anything else can choose."""
