// The verifier in the page: the twin of headstart.verify for greedy, coupled, walk, token and block, bit for bit.
// A law is {ids, weights} as traces hold it; every sum runs left to right over ascending ids.
import { pick, roundCoins } from './coins.js';

export const ROOT = -1;

const idsOf = (law) => law.ids || law.weights.map((_, i) => i);

/** Probability of one token. */
export function prob(law, token) {
  const at = law.ids ? law.ids.indexOf(token) : token;
  return at < 0 || at >= law.weights.length ? 0 : law.weights[at];
}

function running(weights) {
  let sum = 0;
  for (const w of weights) sum += w;
  return sum;
}

/** What one law has above another: max(scale * p - q, 0), its mass, and its law (p where nothing is left). */
export function excess(p, q, scale = 1) {
  const ids = idsOf(p);
  const weights = ids.map((id, i) => Math.max(scale * p.weights[i] - prob(q, id), 0));
  const mass = running(weights);
  return { mass, law: mass > 0 ? { ids, weights: weights.map((w) => w / mass), mass } : p };
}

const accepts = (u, numerator, denominator) => (denominator > 0 && denominator <= numerator) || u * denominator < numerator;

/** A draw by one uniform, as traces keep it: the token, its weight, and the running sums around it. */
export function draw(law, u) {
  const at = pick(law.weights, u);
  const mass = law.mass === undefined ? {} : { mass: law.mass };
  return { ...mass, before: running(law.weights.slice(0, at)), at: law.weights[at], total: running(law.weights), token: idsOf(law)[at] };
}

/** Samples a law by the target's own noise at a position. */
export function race(law, coins, position) {
  const sparse = [];
  idsOf(law).forEach((id, i) => { sparse[id] = law.weights[i]; });
  return coins.target(sparse, position);
}

/** Everything a rule may look at in one round of a trace: its draft, laws and coins, as the engine had them. */
function table(header, round, log) {
  const { tokens, parents } = round.draft;
  const coins = roundCoins(BigInt(header.seed), header.choice, round.round);
  return {
    tokens,
    parents,
    position: round.position,
    law: (node) => round.laws[node],
    drawnFrom: (node) => round.draft_laws[node] || { ids: [tokens[node]], weights: [1] },
    children: (nodes) => tokens.map((_, i) => i).filter((i) => nodes.includes(parents[i])),
    accept(numerator, denominator, node) {
      const u = coins.draw('accept', node);
      const accepted = accepts(u, numerator, denominator);
      log.push({ stream: 'accept', node, u, numerator, denominator, accepted });
      return accepted;
    },
    recover(law, node) {
      const u = coins.draw('recover', node);
      const drawn = draw(law, u);
      log.push({ stream: 'recover', node, u, ...drawn });
      return drawn.token;
    },
    target(law, position) {
      const token = race(law, coins, position);
      log.push({ stream: 'target', position, u: coins.noise(position, token), token });
      return token;
    },
  };
}

/** The verdict that keeps the path down to a node and lets a token follow. */
function settle(round, node, token) {
  const path = [];
  for (let at = node; at !== ROOT; at = round.parents[at]) path.unshift(at);
  const kind = !round.tokens.length ? 'plain' : round.parents.includes(node) ? 'recovered' : 'bonus';
  return { path, token, kind };
}

/** Walks along one token per node, however it is found; several nodes where siblings carry the same token. */
function walk(round, next) {
  let nodes = [ROOT];
  for (let depth = 0; ; depth += 1) {
    const token = next(round.law(nodes[0]), nodes[0], round.position + depth);
    const below = round.children(nodes).filter((i) => round.tokens[i] === token);
    if (!below.length) return settle(round, nodes[0], token);
    nodes = below;
  }
}

function token(round) {
  let last = ROOT;
  for (let node = 0; node < round.tokens.length; node += 1) {
    const p = round.law(last);
    const q = round.drawnFrom(node);
    const x = round.tokens[node];
    if (!round.accept(prob(p, x), prob(q, x), node)) return settle(round, last, round.recover(excess(p, q).law, last));
    last = node;
  }
  return settle(round, last, round.recover(round.law(last), last));
}

/** Products of ratios along the chain, capped at 1 at every step, up to the last that is not 0. */
function worths(round) {
  const worth = [1];
  for (let node = 0; node < round.tokens.length; node += 1) {
    const x = round.tokens[node];
    const value = Math.min(1, (worth[node] * prob(round.law(node - 1), x)) / prob(round.drawnFrom(node), x));
    if (value <= 0) break;
    worth.push(value);
  }
  return worth;
}

function block(round) {
  const worth = worths(round);
  for (let i = worth.length - 1; i > 0; i -= 1) {
    const node = i - 1;
    if (i === round.tokens.length) {
      if (round.accept(worth[i], 1, node)) return settle(round, node, round.recover(round.law(node), node));
      continue;
    }
    const rest = excess(round.law(node), round.drawnFrom(i), worth[i]);
    const whole = rest.mass + 1 - worth[i];
    if (whole === 0 || round.accept(rest.mass, whole, node)) return settle(round, node, round.recover(rest.law, node));
  }
  const first = round.tokens.length ? excess(round.law(ROOT), round.drawnFrom(0)).law : round.law(ROOT);
  return settle(round, ROOT, round.recover(first, ROOT));
}

const RULES = {
  greedy: (round) => walk(round, (law) => idsOf(law)[law.weights.findIndex((w) => w > 0)]),
  coupled: (round) => walk(round, (law, node, position) => round.target(law, position)),
  walk: (round) => walk(round, (law, node) => round.recover(law, node)),
  token,
  block,
};

/** Whether the twin knows a rule. */
export const knows = (verifier) => verifier in RULES;

/** Decides one round of a trace anew, from its draft, laws and the seed alone: {path, token, kind}; coins go into `log`. */
export const decide = (header, round, log = []) => RULES[round.verifier](table(header, round, log));
